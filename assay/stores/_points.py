"""Points of series in the index, stored with each summary."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence

from assay.core.findings import Summary
from assay.core.records import Query
from assay.core.series import Point, StoredPoint, StoredSeries
from assay.stores._mending import Skipped, readable
from assay.stores._rows import MAX_ROWS, conditions, key_of


def keep(database: sqlite3.Connection, result_id: str, summary: Summary) -> None:
    """Store a point for each quantity of a successful result."""
    row = database.execute(
        "SELECT number, series FROM results WHERE id = ? AND status = 'ok'", (result_id,)
    ).fetchone()
    if row is None:
        return
    database.execute("DELETE FROM points WHERE result = ?", (row["number"],))
    for name, quantity in summary.quantities.items():
        if not math.isfinite(quantity.value):
            continue
        metric = (name, quantity.unit)
        database.execute("INSERT OR IGNORE INTO metrics (name, unit) VALUES (?, ?)", metric)
        database.execute(
            "INSERT OR REPLACE INTO points VALUES "
            "(?, (SELECT number FROM metrics WHERE name = ? AND unit = ?), ?, ?, ?, ?)",
            (row["series"], *metric, row["number"], quantity.value, quantity.low, quantity.high),
        )


def all_series(
    database: sqlite3.Connection, query: Query, ids: Sequence[str], skipped: Skipped
) -> list[StoredSeries]:
    if query == Query(workload=query.workload, backend=query.backend):  # no need to count
        rows = database.execute(f"{_TALLIES} ORDER BY last, series.id, metrics.name")
        return [
            entry
            for entry in readable(rows, _series_of_row, skipped)
            if query.workload in ("", entry.series.workload)
            and query.backend in ("", entry.series.backend)
        ]
    where, values = conditions(query, ids)
    rows = database.execute(
        f"""SELECT series.record, metrics.name, metrics.unit, count(*) AS count,
                   min(started) AS first, max(started) AS last
            FROM results JOIN points ON points.result = results.number
            JOIN series ON series.number = points.series
            JOIN metrics ON metrics.number = points.metric
            {where} GROUP BY points.series, points.metric
            ORDER BY last, series.id, metrics.name""",
        values,
    )
    return list(readable(rows, _series_of_row, skipped))


def one_series(
    database: sqlite3.Connection, series: str, metric: str, skipped: Skipped
) -> StoredSeries | None:
    rows = database.execute(f"{_TALLIES} AND series.id = ? AND metrics.name = ?", (series, metric))
    return next(readable(rows, _series_of_row, skipped), None)


_TALLIES = """SELECT series.record, metrics.name, metrics.unit, count, first, last FROM tallies
    JOIN series ON series.number = tallies.series JOIN metrics ON metrics.number = tallies.metric
    WHERE count > 0"""


def _series_of_row(row: sqlite3.Row) -> StoredSeries:
    return StoredSeries(
        series=key_of(row["record"]),
        metric=row["name"],
        unit=row["unit"],
        count=row["count"],
        first=row["first"],
        last=row["last"],
    )


def series_points(
    database: sqlite3.Connection, series: str, metric: str, limit: int
) -> list[Point]:
    rows = database.execute(
        """SELECT results.id, started, git_commit, label, value, low, high
           FROM points JOIN results ON results.number = points.result
           WHERE points.series = (SELECT number FROM series WHERE id = ?)
             AND metric IN (SELECT number FROM metrics WHERE name = ?)
           ORDER BY started DESC, results.id DESC LIMIT ?""",
        (series, metric, limit or -1),
    ).fetchall()
    return [_point(row) for row in reversed(rows)]


def query_points(
    database: sqlite3.Connection,
    query: Query,
    ids: Sequence[str],
    metrics: Sequence[str],
    skipped: Skipped,
) -> list[StoredPoint]:
    """CROSS JOIN fixes the order: few results, and points by result."""
    where, values = conditions(query, ids)
    values |= {f"metric{number}": name for number, name in enumerate(metrics)}
    names = ",".join(f":metric{number}" for number in range(len(metrics)))
    newest = f"ORDER BY started DESC, id DESC LIMIT {min(query.limit, MAX_ROWS)}"
    rows = database.execute(
        f"""SELECT found.id, started, git_commit, label, value, low, high, record, name, unit
            FROM (SELECT * FROM results {where} {newest if query.limit else ""}) AS found
            CROSS JOIN points ON points.result = found.number
            CROSS JOIN series ON series.number = points.series
            CROSS JOIN metrics ON metrics.number = points.metric
            {f"WHERE metrics.name IN ({names})" if metrics else ""}
            ORDER BY started, found.id""",
        values,
    )
    return list(readable(rows, _point_of_row, skipped))


def missing_summaries(
    database: sqlite3.Connection, query: Query, ids: Sequence[str], version: int
) -> list[str]:
    where, values = conditions(query, ids)
    clause = f"{where} AND" if where else "WHERE"
    rows = database.execute(
        f"""SELECT results.id FROM results
            LEFT JOIN summaries ON summaries.id = results.id AND summaries.version = :version
            {clause} results.status = 'ok' AND summaries.id IS NULL ORDER BY started""",
        {**values, "version": version},
    )
    return [row["id"] for row in rows]


def _point_of_row(row: sqlite3.Row) -> StoredPoint:
    return StoredPoint(key_of(row["record"]), row["name"], row["unit"], _point(row))


def _point(row: sqlite3.Row) -> Point:
    return Point(row[0], row[1], row[2], row[3], row[4], _number(row[5]), _number(row[6]))


def _number(value: float | None) -> float:
    """SQLite stores nan as NULL."""
    return math.nan if value is None else value
