"""The store in a folder: run folders, and an SQLite index that is rebuilt from them if lost."""

from __future__ import annotations

import contextlib
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
from assay.stores._modes import create_store, set_mode
from assay.stores._rows import MAX_ROWS, conditions, keep, replace
from assay.stores.runs import only_run, results_of
from assay.stores.sqlite_index import LOCK, NAME, connect, connect_in_memory, is_read_only

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
            create_store(self.runs)
            self._read_only = is_read_only(home)
            self._open(home / NAME)
        except (OSError, sqlite3.OperationalError) as error:
            raise StoreError(
                f"The store in {home} cannot be opened ({error}).",
                hint="Choose another folder with --home or ASSAY_HOME, or repair this one.",
            ) from None

    def new_run(self, plan: Plan) -> Path:
        self._check_writable()
        return folders.new_run(self.runs, plan)

    def folder(self, run: str) -> Path:
        return self._shelf.folder(run)

    def plan(self, run: str) -> Plan:
        return self._shelf.plan(run)

    def append(self, result: Result) -> None:
        """Write a result to its run folder, then to the index."""
        self._check_writable()
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
        self._check_writable()
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
        self._check_writable()
        folder = self.folder(result_id)
        folders.write_amendment(folder, label, tags)
        amended = folders.read_result(folder)
        self._run(lambda: replace(self._database, amended))

    def adopt(self, folder: Path) -> list[str]:
        """Scan a run folder, then copy it into the store unchanged."""
        self._check_writable()
        scan = importing.copy_run(folder, self.runs, self.folder)
        self.problems += scan.problems
        for result in scan.new:
            self._index(result)
        return scan.ids

    def delete(self, text: str) -> list[str]:
        self._check_writable()
        ids = self.find(text)
        path = self.find_run(text.partition("/")[0])
        if "/" in text:
            path = ids[0]
            self.folder(path)  # the other results of a packed run stay
        self._remove([removal.begin(self.runs, path)])
        return ids

    def unpack(self, runs: Sequence[str], whole: Sequence[str]) -> list[str]:
        self._check_writable()
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
        if self._read_only:  # another user's removal, which is finished later
            self._shelf.hide([each.run for each in gone if not each.case])
            return
        self._shelf.drop([e.run for e in gone if not e.case or (self.runs / e.run).is_dir()])
        for each in removals:
            removal.end(each)

    def packed_sizes(self, result_id: str) -> list[int] | None:
        return self._shelf.sizes(result_id)

    def pack(self, runs: Sequence[str]) -> list[Path]:
        """Pack runs into a few files in `home/packs`, from which they are read."""
        self._check_writable()
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

    def _check_writable(self) -> None:
        if self._read_only:
            raise StoreError(
                f"The store in {self.home} cannot be written by this user.",
                hint="Ask its owner for write permission, or copy it: assay store copy FROM TO",
            )

    def _ids(self, query: Query) -> list[str]:
        """Names of runs and ids of results in a query."""
        return [
            result_id
            for text in query.ids
            for result_id in (self.find(text) if "/" in text else [self.find_run(text)])
        ]

    def _open(self, path: Path) -> None:
        new = not path.exists()

        def begin() -> None:
            self._database = self._connect(path)
            self._pick_up()

        self._renewing = False
        self._run(begin)
        if new and not self._read_only:
            for part in (path, path.with_name(LOCK)):
                set_mode(part, self.runs)

    def _connect(self, path: Path) -> sqlite3.Connection:
        return connect_in_memory(path) if self._read_only else connect(path)

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
        path = self.home / NAME
        for part in () if self._read_only else self.home.glob(f"{path.name}*"):
            part.rename(part.with_name(f"damaged-{part.name}"))
        self._database = self._connect(path)
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
