"""The index of a PostgreSQL store: a result as a row, a query as a condition, points of series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from assay.core import codec
from assay.core.findings import Summary
from assay.core.records import Query, Result
from assay.core.series import (
    Entry,
    Point,
    SeriesKey,
    StoredPoint,
    StoredSeries,
    commit_of,
    series_of,
)
from assay.stores._mending import Skipped, readable
from assay.stores._rows import MAX_ROWS, is_readable, key_of

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[Any]

_COLUMNS = (
    *("id", "run", "started", "status", "workload", "backend", "key", "label", "tags"),
    *("host", "git_commit"),
)
_PLAIN = ("workload", "backend", "label")
_UPSERT = f"""
INSERT INTO results ({", ".join(_COLUMNS)}, series)
VALUES ({", ".join(["%s"] * len(_COLUMNS))}, (SELECT number FROM series WHERE id = %s))
ON CONFLICT (id) DO UPDATE SET {", ".join(f"{c} = excluded.{c}" for c in _COLUMNS[2:])},
    series = excluded.series
"""
_SERIES = "(SELECT number FROM series WHERE id = %(series)s)"
_RESULT = "(SELECT number FROM results WHERE id = %(result)s)"
_MOVED = f"SELECT {_SERIES}, metric, result, value, low, high FROM points WHERE result = {_RESULT}"
_DELETE_MOVED = f"DELETE FROM points WHERE result = {_RESULT} AND series <> {_SERIES}"
_TALLIES = """SELECT series.record, metrics.name, metrics.unit, count, first, last FROM tallies
    JOIN series ON series.number = tallies.series JOIN metrics ON metrics.number = tallies.metric
    WHERE count > 0"""


def keep(connection: Connection, result: Result) -> None:
    case, here, series = result.case, result.environment, series_of(result)
    _keep_series(connection, series)
    host = f"{here.system.get('hostname', '')} {here.machine.get('cpu', '')} {series.machine}"
    texts = (
        *(result.id, result.run, result.started, result.status),
        *(case.workload, case.backend, case.key, result.label),
        msgspec.json.encode({_text(k): _text(v) for k, v in result.tags.items()}).decode(),
        *(host.lower(), commit_of(result), series.id),
    )
    connection.execute(_UPSERT, tuple(map(_text, texts)))


def _keep_series(connection: Connection, series: SeriesKey) -> None:
    row = (series.id, codec.encode(series).decode())
    connection.execute(
        "INSERT INTO series (id, record) VALUES (%s, %s) "
        "ON CONFLICT (id) DO UPDATE SET record = excluded.record "
        "WHERE series.record <> excluded.record",
        row,
    )


def _text(value: str) -> str:
    """Text for the server, without NUL and lone surrogates."""
    return value.encode(errors="replace").decode().replace("\0", "\ufffd")


def conditions(query: Query, ids: Sequence[str]) -> tuple[str, dict[str, object]]:
    """`WHERE …` over the table of results, and its values; `ids` are those of the query."""
    values: dict[str, object] = {
        name: _text(getattr(query, name))
        for name in (*_PLAIN, "status", "since", "until", "machine", "commit")
    }
    values |= {"ids": list(ids), "tags": codec.encode(dict(query.tags)).decode()}
    values["machine"] = str(values["machine"]).lower()
    tests = {
        **{name: f"results.{name} = %({name})s" for name in (*_PLAIN, "status")},
        "commit": "starts_with(git_commit, %(commit)s)",
        "since": "started >= %(since)s",
        "until": "left(started, length(%(until)s)) <= %(until)s",
        "machine": "strpos(host, %(machine)s) > 0",
        "tags": "tags @> %(tags)s::jsonb",
        "ids": "results.id = ANY(%(ids)s)",
    }
    where = [test for name, test in tests.items() if getattr(query, name)]
    return f"WHERE {' AND '.join(where)}" if where else "", values


def entries(
    connection: Connection, query: Query, ids: Sequence[str], skipped: Skipped
) -> list[Entry]:
    where, values = conditions(query, ids)
    limit = f"LIMIT {min(query.limit, MAX_ROWS)}" if query.limit else ""
    rows = connection.execute(
        "SELECT results.id, started, status, workload, backend, key, label, tags, "
        "series.id AS series_id, series.record FROM results "
        f"JOIN series ON series.number = results.series {where} "
        f"ORDER BY started DESC, results.id DESC {limit}",
        values,
    ).fetchall()
    return list(readable(reversed(rows), _entry, skipped))


def _entry(row: dict[str, Any]) -> Entry:
    names = ("id", "started", "status", "workload", "backend", "key", "label", "tags")
    return Entry(
        **{name: row[name] for name in names},
        machine=key_of(row["record"]).machine,
        series=row["series_id"],
    )


def find_ids(connection: Connection, query: Query, ids: Sequence[str]) -> list[str]:
    """Ids of a query's results, oldest first."""
    where, values = conditions(query, ids)
    limit = f"LIMIT {min(query.limit, MAX_ROWS)}" if query.limit else ""
    rows = connection.execute(
        f"SELECT id FROM results {where} ORDER BY started DESC, id DESC {limit}", values
    ).fetchall()
    return [row["id"] for row in reversed(rows)]


def unreadable(connection: Connection) -> list[str]:
    """Ids of results with unreadable series."""
    records = connection.execute("SELECT number, record FROM series")
    series = [row["number"] for row in records if not is_readable(key_of, row["record"])]
    rows = connection.execute(
        "SELECT id FROM results WHERE series = ANY(%s) ORDER BY id", (series,)
    )
    return [row["id"] for row in rows]


def replace(connection: Connection, result: Result) -> None:
    """Rebuild the rows of a result, and move its points to its series."""
    series = series_of(result)
    record = codec.encode(series).decode()
    connection.execute("UPDATE series SET record = %s WHERE id = %s", (record, series.id))
    _keep_series(connection, series)
    values = {"result": result.id, "series": series.id}
    connection.execute(f"INSERT INTO points {_MOVED} ON CONFLICT DO NOTHING", values)
    connection.execute(_DELETE_MOVED, values)
    keep(connection, result)


def count(connection: Connection, query: Query, ids: Sequence[str]) -> int:
    where, values = conditions(query, ids)
    row = connection.execute(f"SELECT count(*) AS found FROM results {where}", values).fetchone()
    return int(row["found"]) if row else 0


def keep_summary(connection: Connection, result_id: str, version: int, summary: Summary) -> None:
    connection.execute(
        "INSERT INTO summaries VALUES (%s, %s, %s) ON CONFLICT (id) DO UPDATE "
        "SET version = excluded.version, summary = excluded.summary",
        (result_id, version, codec.encode(summary)),
    )
    row = connection.execute(
        "SELECT number, series FROM results WHERE id = %s AND status = 'ok' FOR UPDATE",
        (result_id,),
    ).fetchone()
    if row is None:
        return
    connection.execute("DELETE FROM points WHERE result = %s", (row["number"],))
    finite = {n: q for n, q in summary.quantities.items() if math.isfinite(q.value)}
    for name, quantity in sorted(finite.items()):  # sorted, to avoid deadlocks
        metric = (_text(name), _text(quantity.unit))
        connection.execute(
            "INSERT INTO metrics (name, unit) VALUES (%s, %s) ON CONFLICT DO NOTHING", metric
        )
        connection.execute(
            "INSERT INTO points VALUES "
            "(%s, (SELECT number FROM metrics WHERE name = %s AND unit = %s), %s, %s, %s, %s)",
            (row["series"], *metric, row["number"], quantity.value, quantity.low, quantity.high),
        )


def summary(connection: Connection, result_id: str, version: int) -> Summary | None:
    row = connection.execute(
        "SELECT summary FROM summaries WHERE id = %s AND version = %s", (result_id, version)
    ).fetchone()
    try:
        return codec.decode_part(row["summary"], Summary) if row else None
    except (ValueError, RecursionError):
        return None  # unreadable: it is computed again


def all_series(
    connection: Connection, query: Query, ids: Sequence[str], skipped: Skipped
) -> list[StoredSeries]:
    if query == Query():
        rows = connection.execute(f"{_TALLIES} ORDER BY last, series.id, metrics.name")
        return list(readable(rows, _series_of_row, skipped))
    where, values = conditions(query, ids)
    rows = connection.execute(
        f"""SELECT min(series.record) AS record, metrics.name, metrics.unit,
                   count(*) AS count, min(started) AS first, max(started) AS last
            FROM results JOIN points ON points.result = results.number
            JOIN series ON series.number = points.series
            JOIN metrics ON metrics.number = points.metric
            {where} GROUP BY series.id, metrics.name, metrics.unit
            ORDER BY last, series.id, metrics.name""",
        values,
    )
    return list(readable(rows, _series_of_row, skipped))


def one_series(
    connection: Connection, series: str, metric: str, skipped: Skipped
) -> StoredSeries | None:
    rows = connection.execute(
        f"{_TALLIES} AND series.id = %s AND metrics.name = %s", (_text(series), _text(metric))
    )
    return next(readable(rows, _series_of_row, skipped), None)


def _series_of_row(row: dict[str, Any]) -> StoredSeries:
    return StoredSeries(
        series=key_of(row["record"]),
        metric=row["name"],
        **{name: row[name] for name in ("unit", "count", "first", "last")},
    )


def points(connection: Connection, series: str, metric: str, limit: int) -> list[Point]:
    rows = connection.execute(
        """SELECT results.id, started, git_commit, label, value, low, high
           FROM points JOIN results ON results.number = points.result
           WHERE points.series = (SELECT number FROM series WHERE id = %s)
             AND metric IN (SELECT number FROM metrics WHERE name = %s)
           ORDER BY started DESC, results.id DESC LIMIT %s""",
        (_text(series), _text(metric), limit or None),
    ).fetchall()
    return [Point(*row.values()) for row in reversed(rows)]


def points_of(
    connection: Connection,
    query: Query,
    ids: Sequence[str],
    metrics: Sequence[str],
    skipped: Skipped,
) -> list[StoredPoint]:
    """Points of a query's results, of these metrics or of all."""
    where, values = conditions(query, ids)
    newest = f"ORDER BY started DESC, id DESC LIMIT {min(query.limit, MAX_ROWS)}"
    rows = connection.execute(
        f"""SELECT found.id, started, git_commit, label, value, low, high, record, name, unit
            FROM (SELECT * FROM results {where} {newest if query.limit else ""}) AS found
            JOIN points ON points.result = found.number
            JOIN series ON series.number = points.series
            JOIN metrics ON metrics.number = points.metric
            {"WHERE metrics.name = ANY(%(metrics)s)" if metrics else ""}
            ORDER BY started, found.id""",
        {**values, "metrics": list(map(_text, metrics))},
    )
    return list(readable(rows, _point_of_row, skipped))


def _point_of_row(row: dict[str, Any]) -> StoredPoint:
    point = Point(*list(row.values())[:7])
    return StoredPoint(key_of(row["record"]), row["name"], row["unit"], point)


def missing_summaries(
    connection: Connection, query: Query, ids: Sequence[str], version: int
) -> list[str]:
    where, values = conditions(query, ids)
    clause = f"{where} AND" if where else "WHERE"
    rows = connection.execute(
        f"""SELECT results.id FROM results
            LEFT JOIN summaries ON summaries.id = results.id AND summaries.version = %(version)s
            {clause} results.status = 'ok' AND summaries.id IS NULL ORDER BY started, results.id""",
        {**values, "version": version},
    )
    return [row["id"] for row in rows]
