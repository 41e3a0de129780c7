"""Time of a command that prints 20 MB under `assay task run`, and with its output sent to a file.

    python benchmarks/output.py [--rounds N]

The three are interleaved. `seconds` are those of the command alone, as the result stores them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from assay.core.clock import clock
from assay.core.executor import CaseDir
from assay.logs.task import Task
from assay.measure.task import run_task

COMMAND = "head -c 20000000 /dev/zero"
PRINTS = {
    "without newlines": f"{COMMAND} | tr '\\0' x",
    "with newlines": f"yes {'x' * 99} | head -c 20000000",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    seconds: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, command in PRINTS.items():
            seconds.setdefault(f"{name}, to a file", []).append(_to_file(command))
            seconds.setdefault(f"{name}, assay", []).append(_measured(command))
    for name, values in seconds.items():
        print(
            f"{name:30} {statistics.median(values):.3f} s  [{min(values):.3f}, {max(values):.3f}]"
        )


def _to_file(command: str) -> float:
    with tempfile.TemporaryFile() as file:
        start = clock()
        subprocess.run(command, shell=True, stdout=file, check=True)
        return clock() - start


def _measured(command: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        task = Task(name="print", command=command, shell=True)
        result = run_task(task, CaseDir("print/001", Path(folder)), suggest=False)
        if result.status != "ok":
            sys.exit(result.reason)
        return result.seconds


if __name__ == "__main__":
    main()
