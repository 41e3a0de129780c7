"""The index over run folders, in SQLite: quick to ask, and rebuilt from the folders when lost."""

from __future__ import annotations

import contextlib
import fcntl
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec

from assay.core import codec
from assay.core.errors import StoreError, UsageError, unknown
from assay.core.findings import Summary
from assay.core.records import Plan, Query, Result
from assay.stores import adopting, folders

_TABLES = """
CREATE TABLE IF NOT EXISTS results (
    id TEXT PRIMARY KEY, run TEXT NOT NULL, started TEXT NOT NULL, status TEXT NOT NULL,
    workload TEXT NOT NULL, backend TEXT NOT NULL, key TEXT NOT NULL, label TEXT NOT NULL,
    tags TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS results_by_start ON results (started);
CREATE TABLE IF NOT EXISTS whole_runs (run TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS summaries (
    id TEXT PRIMARY KEY, version INTEGER NOT NULL, summary TEXT NOT NULL);
"""
MOST_ROWS = 2**63 - 1  # a number SQLite can read


class SqlStore:
    """Runs and results of one home folder. Several processes may append at once."""

    def __init__(self, place: str | Path) -> None:
        self.home = home = Path(place)
        self.runs = home / "runs"
        self.problems: list[str] = []  # files passed over, in words
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
        return self.runs / run

    def plan(self, run: str) -> Plan:
        return folders.read_plan(self.runs / run)

    def append(self, result: Result) -> None:
        """Write a result into its run folder, then tell the index."""
        folders.write_result(self.runs / result.id, result)
        self._index(result)

    def results(self, query: Query) -> Iterator[Result]:
        """Whole results, oldest first. A file that cannot be read is passed over and noted."""
        for row in self.rows(query):
            try:
                result = folders.read_own(self.runs / row["id"])
            except StoreError as error:
                self.problems.append(f"{error} {error.hint}")
                continue
            if _on_machine(result, query.machine):
                yield result

    def count(self, query: Query) -> int:
        whole = msgspec.structs.replace(query, limit=0)
        return sum(1 for _ in (self.results if query.machine else self.rows)(whole))

    def rows(self, query: Query) -> list[sqlite3.Row]:
        """What the index knows of results, oldest first, without opening their files."""
        names = ("workload", "backend", "label", "status")
        conditions = {name: str(getattr(query, name)) for name in names}
        where = [f"{column} = :{column}" for column, value in conditions.items() if value]
        if query.since:
            where.append("started >= :since")
        if query.until:
            where.append("substr(started, 1, length(:until)) <= :until")
        conditions |= {"since": query.since, "until": query.until}
        ids = [found for text in query.ids for found in self.find(text)]
        if query.ids:
            conditions |= {f"id{number}": found for number, found in enumerate(ids)}
            where.append(f"id IN ({','.join(f':id{number}' for number in range(len(ids)))})")
        for number, (name, value) in enumerate(query.tags.items()):
            where.append(
                "EXISTS (SELECT 1 FROM json_each(tags) AS tag "
                f"WHERE tag.key = :name{number} AND tag.value = :value{number})"
            )
            conditions |= {f"name{number}": name, f"value{number}": value}
        clause = f"WHERE {' AND '.join(where)}" if where else ""
        limit = f"LIMIT {min(query.limit, MOST_ROWS)}" if query.limit else ""
        rows = self._database.execute(
            f"SELECT * FROM results {clause} ORDER BY started DESC, id DESC {limit}", conditions
        ).fetchall()
        return rows[::-1]

    def find(self, text: str) -> list[str]:
        """Ids behind RUN, RUN/NNN, a unique beginning or ending of RUN, or `last`."""
        run, slash, number = text.partition("/")
        run = self.find_run(run)
        rows = self._database.execute("SELECT id FROM results WHERE run = ? ORDER BY id", (run,))
        ids = [row["id"] for row in rows]
        if not slash:
            return ids
        wanted = f"{run}/{number.zfill(3)}"
        if wanted not in ids:
            raise unknown("result", text, ids)
        return [wanted]

    def find_run(self, text: str) -> str:
        runs = folders.runs_in(self.runs)
        if not runs:
            raise UsageError("Nothing has been measured yet.", hint="Try: assay run mnist-mlp")
        if text == "last":
            return self._last(runs)
        if text in runs:
            return text
        near = [run for run in runs if text and (run.startswith(text) or run.endswith(text))]
        if len(near) == 1:
            return near[0]
        if near:
            raise UsageError(
                f"'{text}' fits {len(near)} runs: {', '.join(near[:4])}.", hint="Give more of it."
            )
        raise unknown("run", text, runs, hint="assay list results shows what there is.")

    def _last(self, runs: list[str]) -> str:
        """The newest by its name; of those made within a second, by its plan."""
        stamped = [run for run in runs if folders.STAMPED.match(run)] or runs
        newest = next(
            (run for run in reversed(stamped) if folders.is_run(self.runs / run)), stamped[-1]
        )
        second = newest[: len("20261115-101500")]
        return max(
            (run for run in stamped if run.startswith(second)),
            key=lambda run: (folders.is_run(self.runs / run), folders.made_at(self.runs / run)),
        )

    def document(self, run: str, name: str) -> bytes | None:
        return folders.read_document(self.runs / run / name)

    def keep_document(self, run: str, name: str, data: bytes) -> None:
        folders.write_document(self.runs / run / name, data)

    def summary(self, result_id: str, version: int) -> Summary | None:
        """The summary kept for a result, if it was made by this version of the analysis."""
        row = self._database.execute(
            "SELECT summary FROM summaries WHERE id = ? AND version = ?", (result_id, version)
        ).fetchone()
        try:  # not strict: a number that is not finite is kept as text
            return msgspec.convert(msgspec.json.decode(row["summary"]), Summary, strict=False)
        except (msgspec.MsgspecError, TypeError):  # there is none, or it cannot be read: made anew
            return None

    def keep_summary(self, result_id: str, version: int, summary: Summary) -> None:
        row = (result_id, version, codec.encode(summary))
        self._write("INSERT OR REPLACE INTO summaries VALUES (?, ?, ?)", row)

    def adopt(self, folder: Path) -> list[str]:
        """Copy a run folder into the store; what it holds is checked first and never changed."""
        found = adopting.adopt(folder, self.runs)
        self.problems += found.problems
        for result in found.new:
            self._index(result)
        return found.ids

    def delete(self, text: str) -> list[str]:
        """The folder first: what is left of an index without it is passed over."""
        ids = self.find(text)
        run = self.find_run(text.partition("/")[0])
        folders.remove(self.runs / (ids[0] if "/" in text else run))
        for table in ("results", "summaries"):
            for gone in ids:
                self._write(f"DELETE FROM {table} WHERE id = ?", (gone,))
        return ids

    def close(self) -> None:
        self._database.close()

    def _open(self, path: Path) -> None:
        try:
            self._connect(path)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:  # damaged: nothing is in it that the folders do not hold
            for part in path.parent.glob(f"{path.name}*"):
                part.rename(part.with_name(f"damaged-{part.name}"))
            self._connect(path)
        self._pick_up()

    def _connect(self, path: Path) -> None:
        self._database = sqlite3.connect(path, timeout=30, isolation_level=None)
        self._database.row_factory = sqlite3.Row
        # two that open a new index at once would meet: changing the journal mode does not wait
        with open(path.with_name("index.lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.executescript(_TABLES)

    def _pick_up(self) -> None:
        """Index what lies in run folders and is not known yet."""
        whole = {row["run"] for row in self._database.execute("SELECT run FROM whole_runs")}
        known = {row["id"] for row in self._database.execute("SELECT id FROM results")}
        for run in (self.runs / name for name in folders.runs_in(self.runs) if name not in whole):
            cases = folders.finished(run)
            for case in cases:
                if f"{run.name}/{case.name}" not in known:
                    self._index_file(case)
            self._mark_whole(run)

    def _index_file(self, case: Path) -> None:
        try:
            self._index(folders.read_own(case))
        except StoreError as error:
            self.problems.append(f"{error} {error.hint}")

    def _mark_whole(self, run: Path) -> None:
        """A run with a lasting result for every case of its plan is not looked at again."""
        rows = self._database.execute(
            "SELECT key FROM results WHERE run = ? AND status != 'interrupted'", (run.name,)
        )
        lasting = {row["key"] for row in rows}
        with contextlib.suppress(StoreError):
            if lasting >= {case.key for case in folders.read_plan(run).cases}:
                self._write("INSERT OR IGNORE INTO whole_runs VALUES (?)", (run.name,))

    def _index(self, result: Result) -> None:
        case = result.case
        self._write(
            "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                result.id,
                result.run,
                result.started,
                result.status,
                case.workload,
                case.backend,
                case.key,
                result.label,
                msgspec.json.encode(result.tags).decode(),
            ),
        )

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        try:
            self._database.execute(statement, values)
        except sqlite3.OperationalError as error:
            raise StoreError(
                f"The index could not be written ({error}).",
                hint="The results are safe in their run folders; the index catches up later.",
            ) from None


def _on_machine(result: Result, wanted: str) -> bool:
    here = result.environment
    return (
        wanted.lower() in f"{here.system.get('hostname', '')} {here.machine.get('cpu', '')}".lower()
    )


PROVIDES = {"sqlite": SqlStore}
