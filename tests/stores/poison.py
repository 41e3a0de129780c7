"""Rows as assay wrote them while the key of a series had `null` for a number that is not finite."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assay.core.findings import ANALYSIS_VERSION
from assay.core.records import Case, Plan, Query
from assay.core.registry import open_store
from assay.stats import stored_summary
from assay.stores import folders
from tests.kept_runs import CASE, OTHER, made_result

# The row of commit f7cfc39 for the results of `NOT_FINITE`: nan, inf and -inf were one series.
SERIES = "48d26b5d59ee7162"
RECORD = (
    '{"workload":"mnist-mlp","version":"","params":{"units":64,"lr":null},"backend":"jax",'
    '"options":{},"machine":"Test CPU, 2 cpus","key":"mnist-mlp:lr=nan@jax","how":""}'
)
NOT_FINITE = tuple(
    Case(
        workload="mnist-mlp",
        backend="jax",
        params={"units": 64, "lr": value},
        key=f"mnist-mlp:lr={value}@jax",
    )
    for value in (math.nan, math.inf, -math.inf)
)
GOOD = 100
_POISON = (
    "INSERT INTO series (id, record) SELECT '{id}', '{record}' "
    "WHERE NOT EXISTS (SELECT 1 FROM series WHERE id = '{id}')",
    "INSERT INTO points SELECT {old}, metric, result, value, low, high FROM points "
    "WHERE series <> {old} AND result IN {victims}",
    "DELETE FROM points WHERE series <> {old} AND result IN {victims}",
    "UPDATE results SET series = {old} WHERE number IN {victims}",
)

if TYPE_CHECKING:
    from tests.postgres import PostgresServer

Execute = Callable[[str], object]


class PoisonedStore(NamedTuple):
    """A store of `GOOD` results, and one of each of `NOT_FINITE` with unreadable rows."""

    place: str
    execute: Execute  # SQL, on its index
    bad: list[str]  # ids of the results behind the rows
    runs: list[str]  # of the good results

    def poison(self) -> None:
        """Make the rows unreadable again."""
        for statement in _POISON:
            self.execute(
                statement.format(
                    id=SERIES,
                    record=RECORD,
                    old=f"(SELECT number FROM series WHERE id = '{SERIES}')",
                    victims="(SELECT number FROM results WHERE key LIKE '%lr=%')",
                )
            )


def poisoned(place: str | Path, execute: Execute, days: int = GOOD // 5) -> PoisonedStore:
    """Runs of five results, a day each, and last one of the poisoned results."""
    with closing(open_store(place)) as store:
        runs = [
            _keep(store, (CASE, OTHER, CASE, OTHER, CASE), f"2026-09-{day + 1:02d}T10:00:00Z")
            for day in range(days)
        ]
        last = _keep(store, NOT_FINITE, "2026-10-01T10:00:00Z")
        made = PoisonedStore(str(place), execute, store.find(last), runs)
    made.poison()
    return made


def _keep(store, cases, started: str) -> str:
    run = store.new_run(Plan(cases=cases))
    for number, case in enumerate(cases):
        result = made_result(folders.new_case(run), case, 0.003 * (1 + number / 1000), started)
        store.append(result)
        stored_summary.read(store, result)
    return run.name


def folder_index(home: Path) -> Execute:
    """SQL on the index of a store in a folder."""

    def execute(statement: str) -> list[tuple[object, ...]]:
        with closing(sqlite3.connect(home / "index.sqlite", isolation_level=None)) as database:
            return database.execute(statement).fetchall()

    return execute


def database_index(server: PostgresServer) -> Execute:
    return lambda statement: server.execute(f"SET search_path TO assay; {statement}")


def kept_ids(place: str) -> tuple[set[str], set[str]]:
    """Ids of all results, and of those that are points of a series."""
    with closing(open_store(place)) as store:
        results = {result.id for result in store.results(Query())}
        assert not store.unsummarized(Query(), ANALYSIS_VERSION)
        return results, {kept.point.id for kept in store.points_of(Query())}
