"""Measure the tiers of the tests: wall time, CPU time, number of tests, share of frameworks.

python benchmarks/tiers.py                     test-fast and test; some 15 minutes
python benchmarks/tiers.py test --top 30       also the files with the most CPU time
python benchmarks/tiers.py long                hours

Each tier is run by make, with this file as a plugin of pytest. Set up the environment first
(`make test` does), or its installation is measured too. The CPU time of a test contains that of the
processes that it waited for; a fixture of a session counts for the test that used it first.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).absolute().parents[1]
TIERS = ("test-fast", "test", "long")
FRAMEWORKS = {
    *("equinox", "flax", "jax", "keras", "onnxruntime", "openvino", "tensorflow", "timm", "torch"),
    *("torchvision", "transformers"),
}
FOLDER = "ASSAY_TIERS_FOLDER"  # where the plugin writes


class Tier(NamedTuple):
    name: str
    status: int
    wall: float  # seconds
    cpu: float  # seconds, of make and all its processes
    tests: list[dict[str, Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tiers", nargs="*", metavar="TIER", help=", ".join(TIERS))
    parser.add_argument("--top", type=int, default=0, help="files with the most CPU time")
    words = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    print("| tier | exit status | tests | wall | CPU | of it in tests with frameworks |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in words.tiers or TIERS[:2]:
        tier = run_tier(name)
        print(row(tier), flush=True)
        for line in top_files(tier, words.top):
            print(line)


def run_tier(name: str) -> Tier:
    with tempfile.TemporaryDirectory(prefix="assay-tiers-") as folder:
        path = os.pathsep.join(filter(None, [str(ROOT / "benchmarks"), os.getenv("PYTHONPATH")]))
        variables = os.environ | {FOLDER: folder, "PYTHONPATH": path}
        command = ["make", name, f"PYTEST={sys.executable} -m pytest -p {Path(__file__).stem}"]
        start, used = time.perf_counter(), children_seconds()
        status = subprocess.call(command, cwd=ROOT, env=variables, stdout=sys.stderr)
        wall, cpu = time.perf_counter() - start, children_seconds() - used
        lines = [line for file in Path(folder).iterdir() for line in file.read_text().splitlines()]
    return Tier(name, status, wall, cpu, [json.loads(line) for line in lines])


def row(tier: Tier) -> str:
    count = len({test["id"] for test in tier.tests})
    total = sum(test["cpu"] for test in tier.tests)
    share = sum(test["cpu"] for test in tier.tests if test["framework"]) / total if total else 0.0
    minutes = f"{tier.wall / 60:.1f} min | {tier.cpu / 60:.1f} min"
    return f"| {tier.name} | {tier.status} | {count} | {minutes} | {share:.0%} |"


def top_files(tier: Tier, count: int) -> Iterator[str]:
    seconds: Counter[str] = Counter()
    for test in tier.tests:
        seconds[test["id"].partition("::")[0]] += test["cpu"]
    for file, value in seconds.most_common(count):
        yield f"  {value:7.1f} s  {file}"


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Append a line for each test to a file of this process."""
    start = os.times()
    result = yield
    used = sum(after - before for before, after in zip(start[:4], os.times()[:4], strict=True))
    needs = {need for mark in item.iter_markers("real") for need in mark.args}
    line = {"id": item.nodeid, "cpu": used, "framework": bool(needs & FRAMEWORKS)}
    with (Path(os.environ[FOLDER]) / str(os.getpid())).open("a") as file:
        file.write(json.dumps(line) + "\n")
    return result


if __name__ == "__main__":
    main()
