"""The file of the SQLite index, or an index in memory for a store that cannot be written."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from assay.core.systems import lock_file

# Tables of the SQLite index. `tallies` has number and time range of the points of each series, so
# that a list of series needs no count; triggers update it. Another VERSION is rebuilt.
VERSION = 3
NAME, LOCK = "index.sqlite", "index.lock"
_NAMES = (
    *("results", "whole_runs", "packs", "packed", "summaries"),
    *("series", "metrics", "points", "tallies"),
)
_TABLES = """
CREATE TABLE IF NOT EXISTS results (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, run TEXT NOT NULL, started TEXT NOT NULL,
    status TEXT NOT NULL, workload TEXT NOT NULL, backend TEXT NOT NULL, key TEXT NOT NULL,
    label TEXT NOT NULL, tags TEXT NOT NULL, host TEXT NOT NULL, git_commit TEXT NOT NULL,
    series INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS results_by_start ON results (started);
CREATE INDEX IF NOT EXISTS results_by_run ON results (run);
CREATE INDEX IF NOT EXISTS results_by_series ON results (series);
CREATE INDEX IF NOT EXISTS results_by_workload ON results (workload, started);
CREATE INDEX IF NOT EXISTS results_by_label ON results (label);
CREATE INDEX IF NOT EXISTS results_by_commit ON results (git_commit);
CREATE TABLE IF NOT EXISTS whole_runs (run TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS packs (name TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS packed (run TEXT PRIMARY KEY, pack TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS packed_by_pack ON packed (pack);
CREATE TABLE IF NOT EXISTS summaries (
    id TEXT PRIMARY KEY, version INTEGER NOT NULL, summary TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS series (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS metrics (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, unit TEXT NOT NULL, UNIQUE (name, unit));
CREATE TABLE IF NOT EXISTS points (
    series INTEGER, metric INTEGER, result INTEGER, value REAL, low REAL, high REAL,
    PRIMARY KEY (series, metric, result)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS points_by_result ON points (result);
CREATE TABLE IF NOT EXISTS tallies (
    series INTEGER, metric INTEGER, count INTEGER NOT NULL, first TEXT NOT NULL,
    last TEXT NOT NULL, PRIMARY KEY (series, metric)) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS point_kept AFTER INSERT ON points BEGIN
    INSERT INTO tallies
        SELECT new.series, new.metric, 1, started, started FROM results WHERE number = new.result
        ON CONFLICT DO UPDATE SET count = count + 1, first = min(first, excluded.first),
            last = max(last, excluded.last);
END;
CREATE TRIGGER IF NOT EXISTS point_gone AFTER DELETE ON points BEGIN
    UPDATE tallies SET count = count - 1 WHERE series = old.series AND metric = old.metric;
END;
"""


def connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=30, isolation_level=None)
    database.row_factory = sqlite3.Row
    # locked, because changing the journal mode does not wait for another process
    with open(path.with_name(LOCK), "w") as lock:
        lock_file(lock)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        if database.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            for name in _NAMES:
                database.execute(f"DROP TABLE IF EXISTS {name}")
            database.execute(f"PRAGMA user_version = {VERSION}")
        database.executescript(_TABLES)
    return database


def is_read_only(home: Path) -> bool:
    """Whether the folder or its index cannot be written by this user."""
    index = home / NAME
    paths = [home, home / "runs", *([index] if index.exists() else [])]
    return not all(os.access(path, os.W_OK) for path in paths)


def connect_in_memory(path: Path) -> sqlite3.Connection:
    """A copy of the index at `path`; empty where there is none, an old or a damaged one."""
    database = _copy(path) or sqlite3.connect(":memory:", isolation_level=None)
    database.row_factory = sqlite3.Row
    database.executescript(_TABLES)
    return database


def _copy(path: Path) -> sqlite3.Connection | None:
    """`immutable` for a folder in which SQLite cannot make the files that it shares."""
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        url = f"{path.absolute().as_uri()}?{mode}"
        database = sqlite3.connect(":memory:", isolation_level=None)
        with (
            contextlib.suppress(sqlite3.DatabaseError),
            contextlib.closing(sqlite3.connect(url, uri=True)) as own,
        ):
            own.backup(database)
            if database.execute("PRAGMA user_version").fetchone()[0] == VERSION:
                database.execute("PRAGMA quick_check").fetchone()
                return database
        database.close()
    return None
