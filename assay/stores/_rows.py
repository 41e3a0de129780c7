"""Results as rows of the index, and queries as SQL conditions."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Callable, Iterable, Sequence

import msgspec

from assay.core import codec
from assay.core.records import Query, Result
from assay.core.series import Entry, SeriesKey, commit_of, series_of
from assay.stores._mending import Skipped, readable

MAX_ROWS = 2**63 - 1  # largest integer of SQLite
_UPSERT = """
INSERT INTO results (id, run, started, status, workload, backend, key, label, tags, host,
                     git_commit, series)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT number FROM series WHERE id = ?))
ON CONFLICT (id) DO UPDATE SET started = excluded.started, status = excluded.status,
    workload = excluded.workload, backend = excluded.backend, key = excluded.key,
    label = excluded.label, tags = excluded.tags, host = excluded.host,
    git_commit = excluded.git_commit, series = excluded.series
"""
_SERIES = "(SELECT number FROM series WHERE id = :series)"
_RESULT = "(SELECT number FROM results WHERE id = :result)"
_MOVED = f"SELECT {_SERIES}, metric, result, value, low, high FROM points WHERE result = {_RESULT}"
_DELETE_MOVED = f"DELETE FROM points WHERE result = {_RESULT} AND series != {_SERIES}"


def keep(database: sqlite3.Connection, result: Result) -> None:
    case, here, series = result.case, result.environment, series_of(result)
    _keep_series(database, series)
    row = (
        *(result.id, result.run, result.started, result.status),
        *(case.workload, case.backend, case.key, result.label),
        msgspec.json.encode(result.tags).decode(),
        f"{here.system.get('hostname', '')} {here.machine.get('cpu', '')} {series.machine}".lower(),
        *(commit_of(result), series.id),
    )
    database.execute(_UPSERT, row)


def _keep_series(database: sqlite3.Connection, series: SeriesKey) -> None:
    """The text of its case is that of the newest result."""
    row = (series.id, codec.encode(series).decode())
    database.execute(
        "INSERT INTO series (id, record) VALUES (?, ?) "
        "ON CONFLICT (id) DO UPDATE SET record = excluded.record WHERE record != excluded.record",
        row,
    )


def conditions(query: Query, ids: Sequence[str]) -> tuple[str, dict[str, str]]:
    """`WHERE …` over the table of results, and its values; `ids`: runs and results of the query."""
    names = ("workload", "backend", "label", "status")
    values = {name: str(getattr(query, name)) for name in names}
    where = [f"results.{column} = :{column}" for column, value in values.items() if value]
    if query.since:
        where.append("started >= :since")
    if query.until:
        where.append("substr(started, 1, length(:until)) <= :until")
    if query.machine:
        where.append("instr(host, :machine)")
    values |= {"since": query.since, "until": query.until, "machine": query.machine.lower()}
    if query.commit:  # a prefix, as a range, to use the index
        where.append("git_commit >= :commit AND git_commit < :commit || 'g'")
        values["commit"] = query.commit
    if query.ids:
        values |= {f"id{number}": name for number, name in enumerate(ids)}
        marks = {f":id{number}": name for number, name in enumerate(ids)}
        runs = ",".join(mark for mark, name in marks.items() if "/" not in name)
        single = ",".join(mark for mark, name in marks.items() if "/" in name)
        parts = [f"results.run IN ({runs})"] if runs else []
        parts += [f"results.id IN ({single})"] if single else []
        where.append(f"({' OR '.join(parts) or '0'})")
    for number, (name, value) in enumerate(query.tags.items()):
        where.append(
            "EXISTS (SELECT 1 FROM json_each(tags) AS tag "
            f"WHERE tag.key = :name{number} AND tag.value = :value{number})"
        )
        values |= {f"name{number}": name, f"value{number}": value}
    return f"WHERE {' AND '.join(where)}" if where else "", values


def entries(rows: Iterable[sqlite3.Row], skipped: Skipped) -> list[Entry]:
    return list(readable(rows, _entry, skipped))


def _entry(row: sqlite3.Row) -> Entry:
    names = ("id", "started", "status", "workload", "backend", "key", "label")
    return Entry(
        **{name: row[name] for name in names},
        tags=_tags(row["tags"]),
        machine=key_of(row["record"]).machine,
        series=row["series_id"],
    )


@functools.cache
def key_of(record: str) -> SeriesKey:
    """Cached, because few records are read often."""
    return codec.decode_part(record, SeriesKey)


def _tags(text: str) -> dict[str, str]:
    return msgspec.json.decode(text, type=dict[str, str])


def is_readable(decode: Callable[[str], object], text: str) -> bool:
    try:
        decode(text)
    except codec.UNREADABLE:
        return False
    return True


def unreadable(database: sqlite3.Connection) -> list[str]:
    """Ids of results with unreadable rows."""
    records = database.execute("SELECT number, record FROM series").fetchall()
    series = {row["number"] for row in records if not is_readable(key_of, row["record"])}
    rows = database.execute("SELECT id, tags, series FROM results ORDER BY id")
    return [r["id"] for r in rows if r["series"] in series or not is_readable(_tags, r["tags"])]


def replace(database: sqlite3.Connection, result: Result) -> None:
    """Rebuild the rows of a result, and move its points to its series. The last step makes them
    readable, so an interrupted repair is repeated."""
    series = series_of(result)
    record = codec.encode(series).decode()
    database.execute("UPDATE series SET record = ? WHERE id = ?", (record, series.id))
    _keep_series(database, series)
    values = {"result": result.id, "series": series.id}
    database.execute(f"INSERT OR IGNORE INTO points {_MOVED}", values)
    database.execute(_DELETE_MOVED, values)
    keep(database, result)


def forget(database: sqlite3.Connection, removals: Sequence[tuple[str, str]]) -> None:
    """Delete runs (RUN, "") and results (RUN, NNN) with their summaries and points."""
    for run, case in removals:
        where, value = ("id", f"{run}/{case}") if case else ("run", run)
        rows = database.execute(f"SELECT number, id FROM results WHERE {where} = ?", (value,))
        for row in rows.fetchall():
            database.execute("DELETE FROM points WHERE result = ?", (row["number"],))
            database.execute("DELETE FROM summaries WHERE id = ?", (row["id"],))
            database.execute("DELETE FROM results WHERE id = ?", (row["id"],))
        if not case:
            database.execute("DELETE FROM whole_runs WHERE run = ?", (run,))
