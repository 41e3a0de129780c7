"""How long does `assay history` take for 10,000 points beyond its start; what is a result on disk?

    python benchmarks/history.py [--points 10000] [--rounds 7] > history.json

An index of so many results and one of three are made; `assay history` is run on both in turns, each
time as a process of its own; the difference of the medians is told, by the clock and by the CPU.
Then 200 results of a run each are kept and packed: bytes and files before and after.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

import assay
from assay.core.findings import ANALYSIS_VERSION, Quantity, Summary
from assay.core.records import Case, Plan, Procedure, Result, Samples
from assay.stores import folders
from assay.stores.sqlite import SqliteStore

CASE = Case(workload="w", backend="b", key="w@b")
MAIN = "import sys; from assay.cli.main import main; sys.argv = ['assay', *sys.argv[1:]]; main()"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        few, many, kept = (Path(place) / name for name in ("few", "many", "kept"))
        indexed(few, 3)
        indexed(many, given.points)
        told = {"points": given.points, **printed(few, many, given.rounds), **on_disk(kept)}
    print(json.dumps(told, indent=1))


def indexed(home: Path, count: int) -> None:
    """An index without run folders: a history opens none."""
    rng, begun = random.Random(1), datetime(2020, 1, 1, tzinfo=UTC)
    with closing(SqliteStore(home)) as store:
        store._database.execute("PRAGMA synchronous = OFF")
        store._database.execute("BEGIN")
        for number in range(count):
            value = 0.02 * math.exp(rng.gauss(0, 0.01)) * (1.05 if number > count // 2 else 1)
            result = Result(
                id=f"20260101-000000-{number:05d}/001",
                case=CASE,
                procedure=Procedure(),
                status="ok",
                started=(begun + timedelta(hours=number)).isoformat(),
            )
            quantity = Quantity(
                value=value, low=0.99 * value, high=1.01 * value, unit="s", estimator="m", n=5
            )
            store._index(result)
            store.keep_summary(
                result.id, ANALYSIS_VERSION, Summary(quantities={"step_time": quantity})
            )
        store._database.execute("COMMIT")


def printed(few: Path, many: Path, rounds: int) -> dict[str, object]:
    taken: dict[Path, list[tuple[float, float]]] = {few: [], many: []}
    for _ in range(rounds):
        for home, times in taken.items():
            times.append(asked(home))
    beyond = [
        median(both[at] for both in taken[many]) - median(both[at] for both in taken[few])
        for at in (0, 1)
    ]
    return {"seconds beyond the start": beyond[0], "of a CPU": beyond[1], "rounds": rounds}


def asked(home: Path) -> tuple[float, float]:
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    words = [sys.executable, "-c", MAIN, "history", "w@b", "--home", str(home)]
    subprocess.run(words, check=True, capture_output=True, env={**os.environ, "COLUMNS": "100"})
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def on_disk(home: Path, count: int = 200) -> dict[str, object]:
    """Runs of one result, with a log of the worker beside it, as `assay run` leaves them."""
    with closing(SqliteStore(home)) as store:
        for _ in range(count):
            run = store.new_run(Plan(cases=(CASE,)))
            place = folders.new_case(run)
            (place.folder / "worker.log").write_text("started\n" * 20)
            values = tuple(0.02 * (1 + number / 1000) for number in range(100))
            samples = Samples(metric="step_time", unit="s", phase="steady", values=values)
            store.append(
                Result(
                    id=place.id,
                    case=CASE,
                    procedure=Procedure(),
                    status="ok",
                    started="2026-01-01T00:00:00+00:00",
                    samples=(samples,),
                )
            )
    SqliteStore(home).close()  # which runs are whole is known from now on
    found = assay.pack("2026-02", store=home)
    return {
        "files of a result": found.files / found.runs,
        "bytes of a result": found.bytes / found.runs,
        "files of all, packed": len(found.packs),
        "bytes of a result, packed": found.packed_bytes / found.runs,
    }


if __name__ == "__main__":
    main()
