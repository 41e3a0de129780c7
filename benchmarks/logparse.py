"""Reading a log: assay's streaming reader against the documented method of the old driver.

The old method is the one its documentation and source describe: read the whole file as text, run
`re.findall` for each pattern, find the number in each match with a second pattern, `eval` it.

    python benchmarks/logparse.py                  # 1 GB, every combination, once
    python benchmarks/logparse.py --size 100MB --rounds 5

Each measurement is a fresh process; old and new take turns, in an order that changes each round.
Prints a table of seconds, ratios (median of the rounds' ratios; of processor time too, which tells
more where others use the machine) and peak memory, and leaves with status 1 where a goal is missed
or the two disagree about a number.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

NUMBER = r"(\d+\.\d+|\d+)"
GOALS = {"dense": 5.0, "sparse": 2.0}  # times faster
MEMORY = 200e6  # bytes, at most
PARTS = (  # ten kinds of line, each with four numbers of its own
    "train", "valid", "decoder", "encoder", "generator",
    "critic", "policy", "teacher", "student", "adapter",
)  # fmt: skip
FIELDS = ("Speed: {} samples/sec", "accuracy={}", "loss={}", "time cost: {}")


def patterns(count: int) -> list[tuple[str, str]]:
    """Pattern and compute method. Four are those of the old driver's documentation."""
    if count == 4:
        return [
            (f"Speed: {NUMBER} samples/sec", "average"),
            (f"training: accuracy={NUMBER}", "last"),
            (f"validation: accuracy={NUMBER}", "last"),
            (f"time cost: {NUMBER}", "total"),
        ]
    methods = ("average", "last", "last", "total")
    return [
        (f"{part} {field.format(NUMBER)}", method)
        for part in PARTS
        for field, method in zip(FIELDS, methods, strict=True)
    ]


def write_log(path: Path, size: int, count: int, dense: bool, seed: int = 7) -> None:
    """Lines until there are `size` bytes. A block of them is made once and then repeated."""
    draw = random.Random(seed)
    metrics = _documented if count == 4 else _many
    lines = [
        metrics(draw, place) if dense or place % 1000 == 0 else _noise(draw, place)
        for place in range(20_000)
    ]
    block = "".join(lines).encode()
    with path.open("wb") as file:
        for _ in range(size // len(block)):
            file.write(block)
        file.write(block[: size % len(block)].rpartition(b"\n")[0] + b"\n")


def _documented(draw: random.Random, place: int) -> str:
    return (
        f"INFO:root:Epoch[{place % 90}] Batch [{place}]\tSpeed: {draw.uniform(700, 900):.6f} "
        f"samples/sec\ttraining: accuracy={draw.random():.6f}\t"
        f"validation: accuracy={draw.random():.6f}\ttime cost: {draw.uniform(60, 70):.6f}\n"
    )


def _many(draw: random.Random, place: int) -> str:
    part = PARTS[(place // 1000 if place % 1000 == 0 else place) % len(PARTS)]
    numbers = "\t".join(f"{part} {field.format(f'{draw.random():.6f}')}" for field in FIELDS)
    return f"INFO:root:Epoch[{place % 90}] Batch [{place}]\t{numbers}\n"


def _noise(draw: random.Random, place: int) -> str:
    return (
        f"2026-11-15 04:{place % 60:02d}:07,{place % 1000:03d} DEBUG data.loader: worker "
        f"{draw.randrange(16)} took part-{draw.randrange(10**5):05d}.rec from cache=/mnt/train "
        f"in {draw.random():.4f} s, queue={draw.randrange(64)}, state: ready\n"
    )


def old(path: Path, asked: list[tuple[str, str]]) -> list[float]:
    """As the old driver does it."""
    second = re.compile(NUMBER)
    with path.open() as file:
        text = file.read()
    values = []
    for pattern, method in asked:
        found = []
        for match in re.findall(pattern, text):
            number = second.findall(match)
            assert len(number) == 1
            found.append(eval(number[0]))
        values.append(_OLD[method](found))
    return values


_OLD: dict[str, Callable[[list[float]], float]] = {
    "average": lambda found: 1.0 * sum(found) / len(found),
    "last": lambda found: found[-1],
    "total": sum,
}


def new(path: Path, asked: list[tuple[str, str]]) -> list[float]:
    from assay.logs.reader import CHUNK, LogReader
    from assay.logs.task import Metric

    metrics = [
        Metric(name=str(place), pattern=pattern, compute=method)
        for place, (pattern, method) in enumerate(asked)
    ]
    with LogReader(metrics) as reader, path.open("rb", buffering=0) as file:
        while chunk := file.read(CHUNK):
            reader.feed(chunk)
        return [found.value for found in reader.finish().metrics]


def measure(method: str, path: Path, count: int) -> dict[str, object]:
    """One run in a fresh process: seconds of parsing, peak memory, the numbers."""
    command = [sys.executable, __file__, "--child", method, str(path), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer: dict[str, object] = json.loads(done.stdout)
    return answer


def child(method: str, path: str, count: int) -> None:
    begun = time.perf_counter()
    values = {"old": old, "new": new}[method](Path(path), patterns(count))
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    told = {"seconds": seconds, "cpu": time.process_time(), "peak": peak, "values": values}
    print(json.dumps(told))


def compare(path: Path, count: int, rounds: int) -> dict[str, float | bool]:
    runs: dict[str, list[dict[str, object]]] = {"old": [], "new": []}
    for turn in range(rounds):
        for method in ("new", "old") if turn % 2 else ("old", "new"):
            runs[method].append(measure(method, path, count))
    return {
        "old": statistics.median(_each(runs["old"], "seconds")),
        "new": statistics.median(_each(runs["new"], "seconds")),
        "ratio": _ratio(runs, "seconds"),
        "cpu": _ratio(runs, "cpu"),
        "old_peak": max(_each(runs["old"], "peak")),
        "new_peak": max(_each(runs["new"], "peak")),
        "same": all(_agree(a["values"], b["values"]) for a, b in zip(*runs.values(), strict=True)),
    }


def _each(runs: list[dict[str, object]], name: str) -> list[float]:
    return [float(str(run[name])) for run in runs]


def _ratio(runs: dict[str, list[dict[str, object]]], name: str) -> float:
    pairs = zip(_each(runs["old"], name), _each(runs["new"], name), strict=True)
    return statistics.median(old / new for old, new in pairs)


def _agree(one: object, other: object) -> bool:
    assert isinstance(one, list) and isinstance(other, list)
    return len(one) == len(other) and all(
        abs(a - b) <= 1e-9 * abs(a) for a, b in zip(one, other, strict=True)
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--size", default="1GB", help="of the log: 64MB, 1GB")
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--counts", type=int, nargs="*", default=[4, 40])
    options.add_argument("--kinds", nargs="*", default=["dense", "sparse"])
    asked = options.parse_args()
    number = float(asked.size.rstrip("GMB"))
    size = int(number * (1e9 if asked.size.endswith("GB") else 1e6))
    missed = False
    print(f"{'log':<8}{'patterns':>9}{'old s':>9}{'new s':>9}{'ratio':>8}{'goal':>6}", end="")
    print(f"{'cpu':>8}{'old MB':>9}{'new MB':>9}  same numbers")
    for kind in asked.kinds:
        for count in asked.counts:
            handle, name = tempfile.mkstemp(prefix="logparse-", suffix=".log")
            os.close(handle)
            try:
                write_log(Path(name), size, count, kind == "dense")
                row = compare(Path(name), count, asked.rounds)
            finally:
                os.unlink(name)
            goal = GOALS[kind]
            print(f"{kind:<8}{count:>9}{row['old']:>9.2f}{row['new']:>9.2f}", end="")
            print(f"{row['ratio']:>8.2f}{goal:>6.1f}{row['cpu']:>8.2f}", end="")
            print(f"{row['old_peak'] / 1e6:>9.0f}{row['new_peak'] / 1e6:>9.0f}", end="")
            print(f"  {row['same']}", flush=True)
            missed |= row["ratio"] < goal or row["new_peak"] > MEMORY or not row["same"]
    return int(missed)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        sys.exit(main())
