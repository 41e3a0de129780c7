"""The SQLite index of run folders, which is rebuilt from them if lost."""

from __future__ import annotations

import contextlib
import fcntl
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from assay.core import codec
from assay.core.errors import StoreError
from assay.core.findings import Summary
from assay.core.records import Plan, Query, Result
from assay.core.series import Entry, Point, StoredPoint, StoredSeries
from assay.stores import _points as points
from assay.stores import _removal as removal
from assay.stores import _rows as rows
from assay.stores import folders, importing
from assay.stores._files import RunFiles
from assay.stores._mending import Repairer, Skipped
from assay.stores._rows import MAX_ROWS, conditions, keep, replace
from assay.stores.runs import only_run, results_of

T = TypeVar("T")
# Errors of an intact index that cannot be used now.
_INTACT = ("locked", "busy", "full", "readonly", "unable to open", "disk I/O")


class SqliteStore:
    """Runs and results of one home folder. Several processes may append at once."""

    def __init__(self, place: str | Path) -> None:
        self.home = home = Path(place)
        self.runs = home / "runs"
        self._shelf = RunFiles(home, self._ask)
        self._mender = Repairer(self._mend)
        self.problems: list[str] = []  # messages about skipped files
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
            self._open(home / "index.sqlite")
        except (OSError, sqlite3.OperationalError) as error:
            raise StoreError(
                f"The store in {home} cannot be opened ({error}).",
                hint="Choose another folder with --home or ASSAY_HOME, or repair this one.",
            ) from None

    def new_run(self, plan: Plan) -> Path:
        return folders.new_run(self.runs, plan)

    def folder(self, run: str) -> Path:
        return self._shelf.folder(run)

    def plan(self, run: str) -> Plan:
        return self._shelf.plan(run)

    def append(self, result: Result) -> None:
        """Write a result to its run folder, then to the index."""
        folders.write_result(self.runs / result.id, result)
        self._index(result)

    def results(self, query: Query) -> Iterator[Result]:
        """Results, oldest first. Unreadable files are skipped and noted in `problems`."""
        for row in self.rows(query):
            try:
                yield self._shelf.result(row["id"])
            except StoreError as error:
                self._note(f"{error} {error.hint}")

    def entries(self, query: Query) -> list[Entry]:
        return self._mender.ask(lambda skipped: rows.entries(self.rows(query), skipped))

    def count(self, query: Query) -> int:
        ids = self._ids(query)
        where, values = conditions(query, ids)
        (row,) = self._ask(f"SELECT count(*) FROM results {where}", values)
        return int(row[0])

    def rows(self, query: Query) -> list[sqlite3.Row]:
        """Index rows of results, oldest first, without opening their files."""
        ids = self._ids(query)
        where, values = conditions(query, ids)
        limit = f"LIMIT {min(query.limit, MAX_ROWS)}" if query.limit else ""
        statement = (
            "SELECT results.*, series.id AS series_id, series.record FROM results "
            f"JOIN series ON series.number = results.series {where} "
            f"ORDER BY started DESC, results.id DESC {limit}"
        )
        return self._ask(statement, values)[::-1]

    def series(self, query: Query) -> list[StoredSeries]:
        ids = self._ids(query)
        return self._ask_readable(lambda s: points.all_series(self._database, query, ids, s))

    def one_series(self, series: str, metric: str) -> StoredSeries | None:
        return self._ask_readable(lambda s: points.one_series(self._database, series, metric, s))

    def points(self, series: str, metric: str, limit: int = 0) -> list[Point]:
        return self._run(lambda: points.series_points(self._database, series, metric, limit))

    def points_of(self, query: Query, metrics: Sequence[str] = ()) -> list[StoredPoint]:
        ids = self._ids(query)
        return self._ask_readable(
            lambda s: points.query_points(self._database, query, ids, metrics, s)
        )

    def unsummarized(self, query: Query, version: int) -> list[str]:
        ids = self._ids(query)
        return self._run(lambda: points.missing_summaries(self._database, query, ids, version))

    def find(self, text: str) -> list[str]:
        """Ids for RUN, RUN/NNN, a unique prefix or suffix of RUN, or `last`."""
        run = self.find_run(text.partition("/")[0])
        rows = self._ask("SELECT id FROM results WHERE run = ? ORDER BY id", (run,))
        return results_of(text, run, [row["id"] for row in rows])

    def find_run(self, text: str) -> str:
        exact = folders.STAMPED.match(text) and folders.RUN.fullmatch(text)
        if exact and (self.runs / text).is_dir():
            return text  # an exact name needs no list
        runs = folders.runs_in(self.runs)
        packed = self._shelf.find_packed("" if text == "last" else text)
        if text == "last" and (runs or packed):
            return max([*([folders.newest_run(self.runs, runs)] if runs else []), *packed])
        near = [run for run in runs if text and (run.startswith(text) or run.endswith(text))]
        near = sorted({*near, *packed}) if text else []
        known = [*runs, *packed] or self._shelf.find_packed("")
        return only_run(text, [text] if text in known else near, known)

    def document(self, run: str, name: str) -> bytes | None:
        return self._shelf.document(run, name)

    def keep_document(self, run: str, name: str, data: bytes) -> None:
        folders.write_document(self.folder(run) / name, data)

    def summary(self, result_id: str, version: int) -> Summary | None:
        """The stored summary of a result, if this version of the analysis made it."""
        statement = "SELECT summary FROM summaries WHERE id = ? AND version = ?"
        try:
            (row,) = self._ask(statement, (result_id, version))
            return codec.decode_part(row["summary"], Summary)
        except (TypeError, ValueError, RecursionError):
            return None  # missing or unreadable: it is computed again

    def keep_summary(self, result_id: str, version: int, summary: Summary) -> None:
        row = (result_id, version, codec.encode(summary))
        self._write("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)", row)
        self._run(lambda: points.keep(self._database, result_id, summary))

    def amend(self, result_id: str, label: str, tags: Mapping[str, str]) -> None:
        """Write label and tags to a separate file in its folder, then to the index."""
        folder = self.folder(result_id)
        folders.write_amendment(folder, label, tags)
        amended = folders.read_result(folder)
        self._run(lambda: replace(self._database, amended))

    def adopt(self, folder: Path) -> list[str]:
        """Scan a run folder, then copy it into the store unchanged."""
        scan = importing.copy_run(folder, self.runs, self.folder)
        self.problems += scan.problems
        for result in scan.new:
            self._index(result)
        return scan.ids

    def delete(self, text: str) -> list[str]:
        ids = self.find(text)
        path = self.find_run(text.partition("/")[0])
        if "/" in text:
            path = ids[0]
            self.folder(path)  # the other results of a packed run stay
        self._remove([removal.begin(self.runs, path)])
        return ids

    def unpack(self, runs: Sequence[str], whole: Sequence[str]) -> list[str]:
        packed = self._shelf.without_folder(whole)
        ids = [result_id for run in packed for result_id in self.find(run)]
        for run in set(runs).difference(whole):
            self.folder(run)
        removals = [removal.begin(self.runs, run) for run in packed]
        self._shelf.drop(runs)  # each pack is rewritten once
        self._remove(removals)
        return ids

    def _remove(self, removals: Sequence[removal.Removal]) -> None:
        """Steps 2 and 3 of removals; a result that has been measured again meanwhile stays."""
        gone = [each for each in removals if not each.source.exists()]
        self._run(lambda: rows.forget(self._database, [(each.run, each.case) for each in gone]))
        self._shelf.drop([e.run for e in gone if not e.case or (self.runs / e.run).is_dir()])
        for each in removals:
            removal.end(each)

    def packed_sizes(self, result_id: str) -> list[int] | None:
        return self._shelf.sizes(result_id)

    def pack(self, runs: Sequence[str]) -> list[Path]:
        """Pack runs into a few files in `home/packs`, from which they are read."""
        paths = []
        for path in self._shelf.pack(runs):
            paths.append(path)
            self._pick_up_packs()
        return paths

    def packable(self, before: str) -> list[str]:
        """Complete runs in folders with only older results."""
        return self._shelf.packable(before)

    def close(self) -> None:
        self._database.close()

    def _ids(self, query: Query) -> list[str]:
        """Names of runs and ids of results in a query."""
        return [
            result_id
            for text in query.ids
            for result_id in (self.find(text) if "/" in text else [self.find_run(text)])
        ]

    def _open(self, path: Path) -> None:
        def begin() -> None:
            self._database = connect(path)
            self._pick_up()

        self._renewing = False
        self._run(begin)

    def _ask(
        self, statement: str, values: Mapping[str, object] | tuple[object, ...]
    ) -> list[sqlite3.Row]:
        return self._run(lambda: self._database.execute(statement, values).fetchall())

    def _run(self, action: Callable[[], T]) -> T:
        """Run an action; a damaged index is rebuilt from the folders, and the action repeated."""
        try:
            return action()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # messages may be damaged too
            if any(sign in str(error) for sign in _INTACT):
                raise StoreError(
                    f"The index could not be used ({error}).",
                    hint="Results are stored in their run folders; the index is updated later.",
                ) from None
            if self._renewing:
                raise
        self._renew()
        return action()

    def _ask_readable(self, question: Callable[[Skipped], T]) -> T:
        return self._mender.ask(lambda skipped: self._run(lambda: question(skipped)))

    def _mend(self) -> None:
        for result_id in self._run(lambda: rows.unreadable(self._database)):
            self._index_file(result_id, replace)

    def _renew(self) -> None:
        self._renewing = True
        path = self.home / "index.sqlite"
        for part in self.home.glob(f"{path.name}*"):
            part.rename(part.with_name(f"damaged-{part.name}"))
        self._database = connect(path)
        self._pick_up()
        self._renewing = False

    def _pick_up(self) -> None:
        """Index new results in run folders."""
        self._pick_up_packs()
        self._finish_removals()
        whole = {row["run"] for row in self._database.execute("SELECT run FROM whole_runs")}
        for run in (self.runs / name for name in folders.runs_in(self.runs) if name not in whole):
            rows = self._database.execute("SELECT id FROM results WHERE run = ?", (run.name,))
            known = {row["id"] for row in rows}
            for case in folders.finished_cases(run):
                if f"{run.name}/{case.name}" not in known:
                    self._index_file(f"{run.name}/{case.name}")
            self._mark_complete(run)

    def _finish_removals(self) -> None:
        for each in removal.leftovers(self.runs):
            try:
                self._remove([each])
            except StoreError as error:
                self._note(f"{error} {error.hint}")

    def _pick_up_packs(self) -> None:
        for _, ids in self._shelf.new_packs(self.problems):
            for result_id in ids:
                if not self._ask("SELECT 1 FROM results WHERE id = ?", (result_id,)):
                    self._index_file(result_id)

    def _index_file(self, result_id: str, write: Callable[..., None] = keep) -> None:
        try:
            result = self._shelf.result(result_id)
            self._run(lambda: write(self._database, result))
        except StoreError as error:
            self._note(f"{error} {error.hint}")

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _mark_complete(self, run: Path) -> None:
        """Mark a run with a final result for every case, so that it is not scanned again."""
        rows = self._database.execute(
            "SELECT key FROM results WHERE run = ? AND status != 'interrupted'", (run.name,)
        )
        lasting = {row["key"] for row in rows}
        with contextlib.suppress(StoreError):
            if lasting >= {case.key for case in folders.read_plan(run).cases}:
                self._write("INSERT OR IGNORE INTO whole_runs VALUES (?)", (run.name,))

    def _index(self, result: Result) -> None:
        self._run(lambda: keep(self._database, result))

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        self._run(lambda: self._database.execute(statement, values))


PROVIDES = {"sqlite": SqliteStore}


# Tables of the SQLite index. `tallies` has number and time range of the points of each series, so
# that a list of series needs no count; triggers update it. Another VERSION is rebuilt.
VERSION = 3
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
    with open(path.with_name("index.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        if database.execute("PRAGMA user_version").fetchone()[0] != VERSION:
            for name in _NAMES:
                database.execute(f"DROP TABLE IF EXISTS {name}")
            database.execute(f"PRAGMA user_version = {VERSION}")
        database.executescript(_TABLES)
    return database
