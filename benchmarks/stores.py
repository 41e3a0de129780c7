"""What a store of 100,000 results costs: bytes a row, and how quick pages and questions are.

A folder with SQLite and a PostgreSQL server (from Debian's package, started here) get the same
results, appended as a measurement would but for their run folders. Both are then asked in turns.

At last, writers append at once, each in a process of its own: a result, its log and its summary.

    python -u benchmarks/stores.py [--results 100000] [--series 1000] [--requests 40] [--only NAME]
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import random
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from dashboard_index import START

sys.path.insert(0, str(Path(__file__).parents[1]))

from assay.core import codec
from assay.core.findings import ANALYSIS_VERSION, Summary
from assay.core.records import Case, Plan, Query, Result
from assay.core.registry import open_store
from assay.core.series import series_of
from assay.stats.summary import summarize
from assay.stores import _pg_files, _pg_index, _points, _rows, postgresql
from tests.kept_runs import made_result
from tests.postgres import PostgresServer, running

Kept = list[tuple[Result, Summary]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=int, default=100_000)
    parser.add_argument("--series", type=int, default=1_000)
    parser.add_argument("--requests", type=int, default=40)
    parser.add_argument("--only", choices=("sqlite", "postgresql"), default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running() as server:
        os.environ["ASSAY_HOME"] = folder
        places = {"sqlite": f"{folder}/home", "postgresql": server.url}
        places = {given.only: places[given.only]} if given.only else places
        for name, place in places.items():
            began = time.perf_counter()
            fill(place, given.results, given.series)
            print(f"{name}: {given.results} results kept in {time.perf_counter() - began:.0f} s")
        weigh(Path(folder) / "home", server, given.results)
        compare(places, given.requests)
        if "postgresql" in places:
            for writers in (1, 8):
                append_at_once(places["postgresql"], writers)


def fill(place: str, results: int, series: int) -> None:
    """The index of both stores, and the documents where they lie in the database."""
    summaries = [summarize(result_of(number, series)) for number in range(series)]
    opened: Any = open_store(place)
    with closing(opened) as store:
        if hasattr(store, "_link"):
            first = [(result_of(n, series), summaries[n]) for n in range(series)]
            store._link.change(lambda c: keep_in_database(c, first))
            for night in range(1, results // series):  # each in a transaction of its own
                store._link.change(lambda c, night=night: repeat_night(c, night))
            store._link.ask(lambda c: c.execute("VACUUM ANALYZE"))
            return
        for night in range(results // series):
            block = range(night * series, (night + 1) * series)
            store._database.execute("BEGIN")
            keep_in_index(
                store._database, [(result_of(n, series), summaries[n % series]) for n in block]
            )
            store._database.execute("COMMIT")


def keep_in_database(connection: psycopg.Connection[Any], found: Kept) -> None:
    for result, summary in found:
        postgresql.add(connection, result.run)
        path = f"{result.id.partition('/')[2]}/result.json"
        _pg_files.put_bytes(connection, result.run, path, codec.encode(result))
        _pg_index.keep(connection, result)
        _pg_index.keep_summary(connection, result.id, ANALYSIS_VERSION, summary)


def repeat_night(connection: psycopg.Connection[Any], night: int) -> None:
    """The first night again, by the server itself, with its own name and values."""
    name = "to_char(date '2024-01-01' + night, 'YYYYMMDD') || '-030000-abcd'"
    day = "to_char(date '2024-01-01' + night, 'YYYY-MM-DD')"
    each = {"name": name, "day": day, "nights": f"(VALUES ({night})) AS n (night)"}
    for statement in _REPEATED:
        connection.execute(statement.format(**each))


_REPEATED = (
    "INSERT INTO runs (name, stamp) SELECT {name}, left({name}, 15) FROM {nights}",
    "INSERT INTO files SELECT {name}, path, part, size, data FROM files, {nights} "
    "WHERE run = '20240101-030000-abcd'",
    "INSERT INTO results (id, run, started, status, workload, backend, key, label, tags, host, "
    "git_commit, series) SELECT {name} || substr(id, 21), {name}, {day} || substr(started, 11), "
    "status, workload, backend, key, label, tags, host, git_commit, series FROM results, {nights} "
    "WHERE run = '20240101-030000-abcd'",
    "INSERT INTO summaries SELECT {name} || substr(s.id, 21), version, summary "
    "FROM summaries s, {nights} WHERE s.id LIKE '20240101-%'",
    "INSERT INTO points SELECT p.series, p.metric, r.number, v, v * low / value, v * high / value "
    "FROM results o JOIN points p ON p.result = o.number, {nights}, results r, "
    "LATERAL (SELECT p.value * (0.99 + 0.02 * random()) AS v WHERE r.number > 0) AS drawn "
    "WHERE o.run = '20240101-030000-abcd' AND r.id = {name} || substr(o.id, 21)",
)


def keep_in_index(database: sqlite3.Connection, found: Kept) -> None:
    for result, summary in found:
        _rows.keep(database, result)
        row = (result.id, ANALYSIS_VERSION, codec.encode(summary))
        database.execute("INSERT INTO summaries VALUES (?, ?, ?)", row)
        _points.keep(database, result.id, summary)


def result_of(number: int, series: int) -> Result:
    """One of a nightly run over all series, as assay's own `run` makes it: some 60 samples."""
    from assay.core.executor import CaseDir

    draw = random.Random(number)
    kind, night = number % series, number // series
    workload, backend = f"net{kind:04d}", ("jax", "torch", "keras-jax")[kind % 3]
    case = Case(workload=workload, backend=backend, key=f"{workload}@{backend}")
    moment = START + timedelta(days=night, seconds=kind)
    place = CaseDir(f"{moment:%Y%m%d}-030000-abcd/{kind + 1:04d}", Path())
    made = made_result(place, case, 0.01 * math.exp(draw.gauss(0, 0.01)), moment.isoformat())
    here = msgspec.structs.replace(
        made.environment, packages={f"package-{n}": "1.2.3" for n in range(60)}
    )
    return msgspec.structs.replace(made, environment=here)


def weigh(home: Path, server: PostgresServer, results: int) -> None:
    index = sum(file.stat().st_size for file in home.glob("index.sqlite*"))
    print(f"sqlite, index alone: {index / results:.0f} B a result")
    if not server.execute("SELECT to_regclass('assay.files')")[0][0]:
        return
    rows = server.execute(
        "SELECT relname, pg_total_relation_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c "
        "JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'assay' AND relkind = 'r'"
    )
    for name, size, indexes in sorted(rows, key=lambda row: -int(str(row[1]))):
        print(
            f"postgresql, {name}: {int(str(size)) / results:.0f} B a result, "
            f"of which indexes {int(str(indexes)) / results:.0f}"
        )


def compare(places: dict[str, str], requests: int) -> None:
    """Each page and question in turns; wall and this process's CPU seconds."""
    from starlette.testclient import TestClient

    from assay.web.app import application

    asked: dict[tuple[str, str], Callable[[], object]] = {}
    one = series_of(result_of(5, 1_000)).id
    clients = {}
    for name, place in places.items():
        client = clients[name] = TestClient(application(place), base_url="http://127.0.0.1:8000")
        store = open_store(place)
        while "to go" in client.get("/").text:  # every series is looked at once, then kept
            pass
        for page in ("/", "/runs", "/history", f"/history/{one}/step_time"):
            asked[(page.replace(one, "SERIES"), name)] = partial(client.get, page)
        asked[("points of a series", name)] = partial(store.points, one, "step_time")
        asked[("all series", name)] = partial(store.series, Query())
        asked[("newest 50", name)] = partial(store.entries, Query(limit=50))
    taken: dict[tuple[str, str], list[tuple[float, float]]] = {key: [] for key in asked}
    for _ in range(requests):
        for key in random.sample(sorted(asked), len(asked)):
            taken[key].append(timed(asked[key]))
    for (what, name), times in sorted(taken.items()):
        wall, cpu = ([time[n] * 1e3 for time in times] for n in (0, 1))
        tail = sorted(wall)[math.ceil(0.95 * len(wall)) - 1]
        print(
            f"{what}, {name}: median {statistics.median(wall):.1f} ms, p95 {tail:.1f} ms, "
            f"CPU of this process {statistics.median(cpu):.1f} ms"
        )


def append_at_once(place: str, writers: int, each: int = 50) -> None:
    """As measurements of several machines would; on this one they share its cores."""
    forks = multiprocessing.get_context("fork")
    together = forks.Barrier(writers + 1)
    pool = [forks.Process(target=_append, args=(place, each, together)) for _ in range(writers)]
    for one in pool:
        one.start()
    together.wait()
    began = time.perf_counter()
    for one in pool:
        one.join()
    rate = writers * each / (time.perf_counter() - began)
    assert all(one.exitcode == 0 for one in pool)
    print(f"postgresql, {writers} writing at once: {rate:.0f} results/s")


def _append(place: str, count: int, together: Barrier) -> None:
    from assay.stores import folders

    result, summary = result_of(0, 1_000), summarize(result_of(0, 1_000))
    with closing(open_store(place)) as store:
        run = store.new_run(Plan(cases=(result.case,)))
        together.wait()
        for _ in range(count):
            case = folders.new_case(run)
            (case.folder / "worker.log").write_bytes(b"a line that a worker printed\n" * 100)
            store.append(msgspec.structs.replace(result, id=case.id))
            store.keep_summary(case.id, ANALYSIS_VERSION, summary)


def timed(action: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), _cpu()
    action()
    return time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
