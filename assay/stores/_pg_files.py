"""Run folders in a PostgreSQL store: each file in pieces, or in an object store.

Results, plans and documents are always in the database. With `files=URL` (of any fsspec protocol)
logs and traces are there, and the database has their names and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from assay.core import objects
from assay.core.errors import AssayError, StoreError
from assay.core.files import atomic_path
from assay.core.redaction import safe_message

if TYPE_CHECKING:
    import psycopg

    Connection: TypeAlias = psycopg.Connection[Any]

PIECE = 4 << 20  # bytes of a row; a larger file has several
HINT = "Its URL follows files= in the store's URL; for s3://: pip install 'assay-lab[s3]'"
_OURS = ("result.json", "amended.json")  # of a case: never in an object store


class ListedFile(NamedTuple):
    """A file of a run, as the database lists it."""

    path: str
    size: int
    here: bool  # in the database


def put(connection: Connection, run: str, path: str, pieces: Iterable[bytes], size: int) -> None:
    """Insert or replace a file."""
    connection.execute("DELETE FROM files WHERE run = %s AND path = %s", (run, path))
    for number, piece in enumerate(pieces):
        connection.execute(
            "INSERT INTO files VALUES (%s, %s, %s, %s, %s)", (run, path, number, size, piece)
        )


def put_bytes(connection: Connection, run: str, path: str, data: bytes) -> None:
    put(connection, run, path, [data], len(data))


def put_file(connection: Connection, run: str, path: str, source: Path, url: str) -> None:
    """`place` is the URL of an object store; "": none."""
    size = source.stat().st_size
    with source.open("rb") as file:
        if not url or path.count("/") == 0 or path.rpartition("/")[2] in _OURS:
            put(connection, run, path, _pieces(iter(lambda: file.read(PIECE), b"")), size)
            return
        with _object(url, run, path, "wb") as target:
            for piece in iter(lambda: file.read(PIECE), b""):
                target.write(piece)
    connection.execute("DELETE FROM files WHERE run = %s AND path = %s", (run, path))
    connection.execute("INSERT INTO files VALUES (%s, %s, 0, %s, NULL)", (run, path, size))


def _pieces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """At least one piece, also for an empty file."""
    yield next(pieces, b"")
    yield from pieces


def read(connection: Connection, run: str, path: str) -> bytes | None:
    rows = connection.execute(
        "SELECT data FROM files WHERE run = %s AND path = %s ORDER BY part", (run, path)
    ).fetchall()
    return b"".join(row["data"] or b"" for row in rows) if rows else None


def read_many(
    connection: Connection, paths: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], bytes]:
    """Small files of several runs in one query."""
    rows = connection.execute(
        "SELECT files.run, files.path, data FROM unnest(%s::text[], %s::text[]) AS w (run, path) "
        "JOIN files ON files.run = w.run AND files.path = w.path ORDER BY 1, 2, part",
        ([run for run, _ in paths], [path for _, path in paths]),
    )
    contents: dict[tuple[str, str], bytes] = {}
    for row in rows:
        key = (row["run"], row["path"])
        contents[key] = contents.get(key, b"") + (row["data"] or b"")
    return contents


def list_files(connection: Connection, run: str, below: str = "") -> list[ListedFile]:
    """The files of a run, or of one of its folders (`NNN/`)."""
    rows = connection.execute(
        "SELECT path, size, data IS NOT NULL AS here FROM files "
        "WHERE run = %s AND part = 0 AND starts_with(path, %s) ORDER BY path",
        (run, below),
    )
    return [
        ListedFile(row["path"], row["size"], row["here"]) for row in rows if _is_plain(row["path"])
    ]


def _is_plain(path: str) -> bool:
    """Whether a path is inside the run folder: the database is untrusted."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\0" not in path


def fetch(
    connection: Connection, run: str, files: Sequence[ListedFile], into: Path, url: str
) -> None:
    """Download files of a run to its folder; existing results and logs never change."""
    for file in files:
        target = into / file.path
        changeable = "/" not in file.path or file.path.endswith(_OURS[1])
        if not changeable and target.is_file() and target.stat().st_size == file.size:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(target) as temporary, temporary.open("wb") as copy:
            for piece in _content(connection, run, file, url):
                copy.write(piece)


def _content(connection: Connection, run: str, file: ListedFile, url: str) -> Iterator[bytes]:
    if file.here:
        statement = "SELECT data FROM files WHERE run = %s AND path = %s AND part = %s"
        for part in range(max(1, -(-file.size // PIECE))):
            row = connection.execute(statement, (run, file.path, part)).fetchone()
            yield row["data"] if row else b""
        return
    if not url:
        raise StoreError(
            f"{run}/{file.path} is in an object store that is missing in the URL.",
            hint="Add it: postgresql://…?files=s3://BUCKET/FOLDER",
        )
    with _object(url, run, file.path, "rb") as source:
        yield from iter(lambda: source.read(PIECE), b"")


def remove(connection: Connection, run: str, below: str) -> list[ListedFile]:
    """Delete the files of a run from the database; returns those in an object store."""
    remote = [file for file in list_files(connection, run, below) if not file.here]
    connection.execute("DELETE FROM files WHERE run = %s AND starts_with(path, %s)", (run, below))
    return remote


def remove_objects(run: str, files: Sequence[ListedFile], url: str) -> None:
    """Delete files from an object store, after the database has forgotten them."""
    for file in files if url else ():
        with _open_file_system(url) as (system, prefix), suppress(FileNotFoundError):
            system.rm_file(f"{prefix}/{run}/{file.path}")


@contextmanager
def _object(url: str, run: str, path: str, mode: str) -> Iterator[Any]:
    with _open_file_system(url) as (system, prefix):
        if "w" in mode and not objects.is_remote(url):
            system.makedirs(f"{prefix}/{run}/{path}".rpartition("/")[0], exist_ok=True)
        with system.open(f"{prefix}/{run}/{path}", mode) as file:
            yield file


@contextmanager
def _open_file_system(url: str) -> Iterator[tuple[Any, str]]:
    """fsspec's file system for a URL, and the path there; converts errors."""
    try:
        if objects.is_remote(url):
            with objects.open_file_system(url) as system:
                yield system, url.partition("://")[2].rstrip("/")
        else:
            import fsspec

            system, prefix = fsspec.core.url_to_fs(url)
            yield system, str(prefix).rstrip("/")
    except (OSError, ValueError, ImportError, AssayError) as error:
        raise StoreError(
            f"The object store {safe_message(url)} cannot be used "
            f"({safe_message(str(error)).rstrip('.')}).",
            hint=getattr(error, "hint", "") or HINT,
        ) from None
