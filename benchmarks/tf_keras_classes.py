"""Benchmark classes nobody here wrote: those inside the tf-keras wheel, unchanged. Slow.

    python benchmarks/tf_keras_classes.py VENV [TIMEOUT] > docs/results/perfzero-classes.md

VENV is a virtual environment with tf-keras and a TensorFlow of the same version (and msgspec).
"""

from __future__ import annotations

import sys

import assay
from assay.core import units
from assay.formats.perfzero.messages import BenchResult, BenchSetting

PACKAGE = "tf_keras.src.layers.preprocessing.benchmarks"
HEAD = """# Benchmark classes of tf-keras, run by assay

Written by `benchmarks/tf_keras_classes.py`. The classes are those of the wheel, unchanged; each
method ran in a process of its own, for {timeout:g} s at most, on {cpu} ({cpus} CPUs, shared).
Software: {packages}.

| method | status | reports | first report's wall time | reason |
|---|---|---:|---:|---|"""


def main() -> None:
    python, timeout = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 60.0
    found = assay.benchmarks(PACKAGE, python=python)
    setting = BenchSetting(python=python, timeout=timeout)
    lines: list[str] = []
    for benched in assay.bench(*found.names, setting=setting, label="tf-keras"):
        if not lines:
            lines.append(head(benched, timeout))
        lines.append(row(benched))
        print(lines[-1], file=sys.stderr)
    lines += ["", *(f"- not looked into: {name}: {why}" for name, why in found.problems.items())]
    print("\n".join(lines).rstrip())


def head(benched: BenchResult, timeout: float) -> str:
    environment = benched.result.environment
    wanted = ("tensorflow-cpu", "tensorflow_cpu", "tensorflow", "tf_keras", "numpy", "protobuf")
    packages = [
        f"{name} {environment.packages[name]}" for name in wanted if name in environment.packages
    ]
    return HEAD.format(
        timeout=timeout,
        cpu=environment.machine.get("cpu"),
        cpus=environment.machine.get("cpus"),
        packages=", ".join(packages),
    )


def row(benched: BenchResult) -> str:
    result = benched.result
    times = [entry.wall_time for entry in benched.entries if entry.wall_time is not None]
    reason = (result.reason.splitlines() or [""])[-1].strip()[:160].replace("|", "\\|")
    name = benched.method.name.removeprefix(f"{PACKAGE}.")
    first = units.human(times[0], "s") if times else ""
    return f"| `{name}` | {result.status} | {len(benched.entries)} | {first} | {reason} |"


if __name__ == "__main__":
    main()
