"""A store in a PostgreSQL database for many machines: run folders and their index.

`postgresql://USER@HOST/DATABASE`. A run is measured in a local folder and then sent, so that a lost
connection loses nothing. The database is the primary copy: other machines download from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from assay.core import codec, settings
from assay.core.errors import AssayError, StoreError, UsageError
from assay.core.files import read_plain, write_atomic
from assay.core.findings import Summary
from assay.core.records import Plan, Query, Result
from assay.core.redaction import safe_text, safe_values
from assay.core.series import Entry, Point, StoredPoint, StoredSeries
from assay.stores import _pg_connection as link
from assay.stores import _pg_files as files
from assay.stores import _pg_index as index
from assay.stores import folders, importing, runs
from assay.stores._mending import Repairer, Skipped
from assay.stores._pg_outbox import StoreOutbox

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[Any]


T = TypeVar("T")
BATCH = 50  # results per query


class PostgresStore:
    """Runs and results of a database. Any number of machines may append at once."""

    def __init__(self, place: str) -> None:
        where = link.address(place)
        self.home = settings.home(f"postgresql://{place}")
        self.runs = settings.runs(f"postgresql://{place}")
        self.problems: list[str] = []  # messages about skipped data
        self._mender = Repairer(self._mend)
        self._files = where.files
        self._link = link.ServerLink(where)
        self._outbox = StoreOutbox(link.without_password(place), self.home, self.runs)
        self.send_pending()

    def new_run(self, plan: Plan) -> Path:
        folder = folders.new_run(self.runs, plan)
        data = codec.encode(plan, indent=2)

        def begin(connection: Connection) -> None:
            add(connection, folder.name)
            files.put_bytes(connection, folder.name, "plan.json", data)

        self._link.change(begin)
        return folder

    def folder(self, run: str) -> Path:
        """The folder of a run or a result; missing files are downloaded."""
        name, slash, number = run.partition("/")
        below = f"{number}/" if slash else ""
        folder = self.runs / name
        if folders.RUN.fullmatch(name):
            self._link.ask(
                lambda c: files.fetch(
                    c, name, files.list_files(c, name, below), folder, self._files
                )
            )
        return self.runs / run

    def plan(self, run: str) -> Plan:
        data = self.document(run, "plan.json")
        if data is None:
            raise StoreError(
                f"Run {run} has no plan.json in the store.", hint="Its results can still be shown."
            )
        return codec.decode(data, Plan, f"{run}/plan.json")

    def append(self, result: Result) -> None:
        """Write a result to its local folder, then send all its files in one transaction."""
        folder = self.runs / result.id
        with folders.explain_os_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        folders.write_result(folder, result)
        try:
            self._send_folder(folder, result)
        except AssayError as error:
            raise self._outbox.put(folder, error) from None

    def _send_folder(self, folder: Path, result: Result) -> None:
        plain_files = list(importing.files_of(folder, Path(result.id), self.problems))
        self._link.change(lambda c: self._send(c, [result], plain_files))

    def send_pending(self, rejected: bool = False) -> None:
        """What cannot be sent is noted in `problems`."""
        for problem in self._outbox.send(self._send_path, rejected):
            self._note(problem)

    def _send_path(self, path: Path) -> None:
        """A result's folder, or a document of a run."""
        if path.is_dir():
            self._send_folder(path, folders.read_result(path))
            return
        with folders.explain_os_errors(path):
            data = read_plain(path, importing.MAX_BYTES)
        self._link.change(lambda c: _put_document(c, path.parent.name, path.name, data))

    def _send(
        self,
        connection: Connection,
        results: Sequence[Result],
        plain_files: Sequence[importing.PlainFile],
    ) -> None:
        for run in {result.run for result in results}:
            add(connection, run)
        for file in plain_files:
            run, path = file.target.parts[0], "/".join(file.target.parts[1:])
            files.put_file(connection, run, path, file.source, self._files)
        for result in results:
            index.keep(connection, result)

    def results(self, query: Query) -> Iterator[Result]:
        """Results, oldest first. Unreadable documents are skipped and noted in `problems`."""
        ids = self._ask(index.find_ids, query)
        for first in range(0, len(ids), BATCH):
            yield from self._read(ids[first : first + BATCH])

    def _read(self, ids: Sequence[str]) -> Iterator[Result]:
        names = ("result.json", folders.AMENDED)
        paths = [(i.partition("/")[0], f"{i.partition('/')[2]}/{n}") for i in ids for n in names]
        contents = self._link.ask(lambda c: files.read_many(c, paths))
        for result_id in ids:
            run, _, number = result_id.partition("/")
            data, amended = (contents.get((run, f"{number}/{name}")) for name in names)
            try:
                yield decode_result(result_id, data, amended)
            except StoreError as error:
                self._note(f"{error} {error.hint}")

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def entries(self, query: Query) -> list[Entry]:
        return self._ask_readable(index.entries, query)

    def count(self, query: Query) -> int:
        return self._ask(index.count, query)

    def series(self, query: Query) -> list[StoredSeries]:
        return self._ask_readable(index.all_series, query)

    def one_series(self, series: str, metric: str) -> StoredSeries | None:
        return self._mender.ask(
            lambda skipped: self._link.ask(lambda c: index.one_series(c, series, metric, skipped))
        )

    def points(self, series: str, metric: str, limit: int = 0) -> list[Point]:
        return self._link.ask(lambda c: index.points(c, series, metric, limit))

    def points_of(self, query: Query, metrics: Sequence[str] = ()) -> list[StoredPoint]:
        return self._ask_readable(
            lambda c, q, ids, s: index.points_of(c, q, ids, metrics, s), query
        )

    def unsummarized(self, query: Query, version: int) -> list[str]:
        return self._ask(lambda c, q, ids: index.missing_summaries(c, q, ids, version), query)

    def _ask(self, question: Callable[[Connection, Query, Sequence[str]], T], query: Query) -> T:
        ids = [result_id for text in query.ids for result_id in self.find(text)]
        return self._link.ask(lambda c: question(c, query, ids))

    def _ask_readable(
        self, question: Callable[[Connection, Query, Sequence[str], Skipped], T], query: Query
    ) -> T:
        return self._mender.ask(
            lambda skipped: self._ask(lambda c, q, ids: question(c, q, ids, skipped), query)
        )

    def _mend(self) -> None:
        ids = self._link.ask(index.unreadable)
        for first in range(0, len(ids), BATCH):
            results = list(self._read(ids[first : first + BATCH]))
            try:
                self._link.change(partial(_replace, results=results))
            except AssayError as error:  # without write permission
                self._note(f"Rows of {len(results)} results cannot be read or repaired. {error}")

    def find(self, text: str) -> list[str]:
        run = self.find_run(text.partition("/")[0])
        statement = "SELECT id FROM results WHERE run = %s ORDER BY id"
        rows = self._link.ask(lambda c: c.execute(statement, (run,)).fetchall())
        return runs.results_of(text, run, [row["id"] for row in rows])

    def find_run(self, text: str) -> str:
        return self._link.ask(lambda c: find_run(c, text.replace("\0", "")))

    def document(self, run: str, name: str) -> bytes | None:
        return self._link.ask(lambda c: files.read(c, run, name))

    def keep_document(self, run: str, name: str, data: bytes) -> None:
        try:
            self._link.change(lambda c: files.put_bytes(c, run, name, data))
        except AssayError as error:
            path = self.runs / run / name
            with folders.explain_os_errors(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, data)
            raise self._outbox.put(path, error) from None

    def summary(self, result_id: str, version: int) -> Summary | None:
        return self._link.ask(lambda c: index.summary(c, result_id, version))

    def keep_summary(self, result_id: str, version: int, summary: Summary) -> None:
        self._link.change(lambda c: index.keep_summary(c, result_id, version, summary))

    def amend(self, result_id: str, label: str, tags: Mapping[str, str]) -> None:
        """Write label and tags to a separate document and the index."""
        change = folders.Amendment(label=safe_text(label), tags=safe_values(tags))
        (result,) = self._read([result_id])
        amended = msgspec.structs.replace(result, label=change.label, tags=change.tags)
        run, _, number = result_id.partition("/")

        def both(connection: Connection) -> None:
            path = f"{number}/{folders.AMENDED}"
            files.put_bytes(connection, run, path, codec.encode(change))
            index.replace(connection, amended)

        self._link.change(both)

    def adopt(self, folder: Path) -> list[str]:
        """Scan a run folder, then send what the store does not have."""
        scan = importing.scan_run(folder, self._known)
        self.problems += scan.problems

        def send(connection: Connection) -> None:
            listed = {file.path for file in files.list_files(connection, scan.run)}
            beside = [file for file in scan.run_files if file.target.name not in listed]
            if not listed:
                files.put_bytes(connection, scan.run, importing.IMPORTED, b"")
            self._send(connection, scan.new, [*scan.files, *beside])

        self._link.change(send)
        return scan.ids

    def _known(self, ids: Sequence[str]) -> Collection[str]:
        statement = "SELECT id FROM results WHERE id = ANY(%s)"
        rows = self._link.ask(lambda c: c.execute(statement, (list(ids),)).fetchall())
        return {row["id"] for row in rows}

    def delete(self, text: str) -> list[str]:
        """The database first: objects and local files without a row there are never shown."""
        ids = self.find(text)
        run, slash, _ = (ids[0] if "/" in text else self.find_run(text)).partition("/")
        below = f"{ids[0].partition('/')[2]}/" if slash else ""

        def forget_all(connection: Connection) -> list[files.ListedFile]:
            forget(connection, ids, "" if slash else run)
            return files.remove(connection, run, below)

        files.remove_objects(run, self._link.change(forget_all), self._files)
        if (self.runs / run / below).exists():
            folders.remove(self.runs / run / below)
        return ids

    def sizes(self, result_id: str) -> list[int]:
        """Bytes of each file of a result, without downloading them."""
        run, _, number = result_id.partition("/")
        listing = self._link.ask(lambda c: files.list_files(c, run, f"{number}/"))
        return [file.size for file in listing]

    @contextmanager
    def taken(self, run: str) -> Iterator[None]:
        """Lock a run against other machines and processes."""
        if not self._link.take_lock(run):
            raise UsageError(
                f"Run {run} is being measured by another assay, here or on another machine.",
                hint="Wait until it ends, or stop it first.",
            )
        try:
            yield
        finally:
            self._link.release_lock(run)

    def close(self) -> None:
        self._link.close()


def _put_document(connection: Connection, run: str, name: str, data: bytes) -> None:
    add(connection, run)
    files.put_bytes(connection, run, name, data)


def _replace(connection: Connection, results: Sequence[Result]) -> None:
    for result in results:
        index.replace(connection, result)


PROVIDES = {"postgresql": PostgresStore, "postgres": PostgresStore}


MAX_SUGGESTIONS = 1_000  # newest runs to suggest for a misspelt name
_GONE = (
    "DELETE FROM points WHERE result IN (SELECT number FROM results WHERE id = ANY(%s))",
    "DELETE FROM results WHERE id = ANY(%s)",
    "DELETE FROM summaries WHERE id = ANY(%s)",
)


def add(connection: Connection, run: str) -> None:
    stamp = run[: len("20261115-101500")] if folders.STAMPED.match(run) else ""
    connection.execute(
        "INSERT INTO runs (name, stamp) VALUES (%s, %s) ON CONFLICT DO NOTHING", (run, stamp)
    )


def find_run(connection: Connection, text: str) -> str:
    """Find a run by name, unique prefix or suffix, or `last`."""

    def names(rest: str, *values: object) -> list[str]:
        rows = connection.execute(f"SELECT name FROM runs {rest}", values).fetchall()
        return [row["name"] for row in rows]

    if text == "last" and (last := names("ORDER BY stamp DESC, made DESC, name DESC LIMIT 1")):
        return last[0]
    if exact := names("WHERE name = %s", text):
        return exact[0]
    near = names(
        "WHERE %s <> '' AND (starts_with(name, %s) OR starts_with(reverse(name), reverse(%s))) "
        "ORDER BY name LIMIT 100",
        *(text, text, text),
    )
    return runs.only_run(text, near, names(f"ORDER BY stamp DESC LIMIT {MAX_SUGGESTIONS}"))


def forget(connection: Connection, ids: Sequence[str], run: str) -> None:
    """Remove results from the index, and the run unless it is ""."""
    for statement in _GONE:
        connection.execute(statement, (list(ids),))
    connection.execute("DELETE FROM runs WHERE name = %s", (run,))


def decode_result(result_id: str, data: bytes | None, amended: bytes | None) -> Result:
    """Decode a result with its later label and tags."""
    origin = f"{result_id}/result.json"
    if data is None:
        raise StoreError(f"{origin} is not in the store.", hint="Delete the result to hide it.")
    result = codec.decode(data, Result, origin)
    if result.id != result_id:
        raise StoreError(
            f"{origin} has the id {result.id[:60]!r}, but an id is {result_id} there.",
            hint="It is damaged or malicious: delete it.",
        )
    if amended is None:
        return result
    change = codec.decode(amended, folders.Amendment, f"{result_id}/{folders.AMENDED}")
    return msgspec.structs.replace(result, label=change.label, tags=change.tags)
