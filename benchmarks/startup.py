"""How long assay takes to start, as a ratio to a bare `python -c pass`.

Commands take turns in random order, so that whatever else the machine does falls on all alike.
Modules have been compiled before, as pip does when it installs. With --source none of a checkout
have been, as where PYTHONDONTWRITEBYTECODE is set: each start then compiles what it loads of them.

    python benchmarks/startup.py [--rounds 40] [--source]
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

LIMITS = {"assay --help": 4.5, "assay list workloads": 8.0, "assay list results": 8.0}
LIMITS |= {"assay list backends": 8.0, "assay show last": 8.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--source", action="store_true")
    given = parser.parse_args()
    assay = str(Path(sys.executable).with_name("assay"))
    commands = {"python -c pass": [sys.executable, "-c", "pass"]}
    commands |= {name: [assay, *name.split()[1:]] for name in LIMITS}
    with tempfile.TemporaryDirectory() as home:
        variables = _variables(home, given.source)
        _prepare(assay, variables)
        _measure(commands, 1, variables)  # leaves the byte code, where it may
        seconds = _measure(commands, given.rounds, variables)
    _print(seconds)


def _variables(home: str, source: bool) -> dict[str, str]:
    variables = os.environ | {"ASSAY_HOME": home}
    if source:
        return variables | {"PYTHONDONTWRITEBYTECODE": "1"}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables | {"PYTHONPYCACHEPREFIX": f"{home}/bytecode"}


def _prepare(assay: str, variables: dict[str, str]) -> None:
    """A store with one result, whose summary is made at the first look."""
    file = Path(variables["ASSAY_HOME"]) / "add.py"
    file.write_text("def add():\n    return lambda: sum(range(1000))\n")
    words = [assay, "run", f"{file}:add@python", "--samples", "20"]
    subprocess.run(words, env=variables, check=True, capture_output=True)
    subprocess.run([assay, "show", "last"], env=variables, check=True, capture_output=True)


def _measure(
    commands: dict[str, list[str]], rounds: int, variables: dict[str, str]
) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name in random.sample(list(commands), len(commands)):
            start = time.perf_counter()
            subprocess.run(commands[name], env=variables, check=True, capture_output=True)
            seconds[name].append(time.perf_counter() - start)
    return seconds


def _print(seconds: dict[str, list[float]]) -> None:
    bare = seconds.pop("python -c pass")
    print(f"{'command':24}{'median ratio':>14}{'quartiles':>18}{'goal':>8}")
    for name, taken in seconds.items():
        ratios = [mine / base for mine, base in zip(taken, bare, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"{name:24}{middle:14.2f}{low:9.2f} – {high:.2f}{LIMITS[name]:8.1f}")


if __name__ == "__main__":
    main()
