"""Seconds and CPU seconds until the first table, with a new store, for each way to ask for it.

Commands take turns in random order. With --checkout, those of another commit take turns with them;
a command that it does not have is left out.

    python benchmarks/first_table.py [--rounds 3] [--checkout FOLDER] [--only quick,torch]
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = {
    "all": "run mnist-mlp",
    "infer": "run mnist-mlp --mode infer",
    "torch": "run mnist-mlp@torch",
    "quick": "run mnist-mlp --quick",
    "quick-torch": "run mnist-mlp@torch --quick",
}
HERE = Path(__file__).parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--checkout", type=Path, action="append", default=[])
    parser.add_argument("--only", default="", help=f"of {', '.join(COMMANDS)}")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(COMMANDS)
    jobs = [(folder, name) for folder in (HERE, *options.checkout) for name in names]
    taken: dict[tuple[Path, str], list[tuple[float, float]]] = {job: [] for job in jobs}
    for _ in range(options.rounds):
        for job in random.sample(jobs, len(jobs)):
            if spent := measure(*job):
                taken[job].append(spent)
    print(f"{'checkout':<20}  {'command':<32}  {'seconds':>8}  {'CPU s':>8}  rounds")
    for (folder, name), rounds in taken.items():
        if rounds:
            seconds = statistics.median(each[0] for each in rounds)
            cpu = statistics.median(each[1] for each in rounds)
            print(
                f"{folder.name:<20}  assay {COMMANDS[name]:<26}  {seconds:8.1f}  {cpu:8.1f}  "
                f"{len(rounds):6}"
            )


def measure(folder: Path, name: str) -> tuple[float, float] | None:
    """Seconds, and CPU seconds of all processes; None if the command failed."""
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"PYTHONPATH": str(folder), "ASSAY_STORE": home}
        environment |= {"ASSAY_HOME": home}
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", *COMMANDS[name].split()],
            env=environment,
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    return (seconds, used.ru_utime + used.ru_stime) if process.returncode in (0, 1) else None


if __name__ == "__main__":
    main()
