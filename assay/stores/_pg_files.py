"""Run folders in a PostgreSQL store: each file in pieces, or in an object store named by URL.

Results, plans and documents always lie in the database. With `files=URL` (of anything fsspec opens)
the rest, logs and traces, lie there; the database then knows their names and sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple

from assay.core import objects
from assay.core.errors import AssayError, StoreError
from assay.core.files import written_whole
from assay.core.redaction import without_tokens

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

PIECE = 4 << 20  # bytes of a row; a larger file has several
HINT = "Its URL stands behind files= in the store's URL; s3:// needs pip install s3fs."
_OURS = ("result.json", "amended.json")  # of a case: never in an object store


class ListedFile(NamedTuple):
    """A file of a run, as the database lists it."""

    path: str
    size: int
    here: bool  # in the database


def put(connection: Connection, run: str, path: str, pieces: Iterable[bytes], size: int) -> None:
    """In place of what was there under that name."""
    connection.execute("DELETE FROM files WHERE run = %s AND path = %s", (run, path))
    for number, piece in enumerate(pieces):
        connection.execute(
            "INSERT INTO files VALUES (%s, %s, %s, %s, %s)", (run, path, number, size, piece)
        )


def put_bytes(connection: Connection, run: str, path: str, data: bytes) -> None:
    put(connection, run, path, [data], len(data))


def put_file(connection: Connection, run: str, path: str, source: Path, place: str) -> None:
    """`place` is the URL of an object store; "": none."""
    size = source.stat().st_size
    with source.open("rb") as opened:
        if not place or path.count("/") == 0 or path.rpartition("/")[2] in _OURS:
            put(connection, run, path, _pieces(iter(lambda: opened.read(PIECE), b"")), size)
            return
        with _object(place, run, path, "wb") as target:
            for piece in iter(lambda: opened.read(PIECE), b""):
                target.write(piece)
    connection.execute("DELETE FROM files WHERE run = %s AND path = %s", (run, path))
    connection.execute("INSERT INTO files VALUES (%s, %s, 0, %s, NULL)", (run, path, size))


def _pieces(found: Iterator[bytes]) -> Iterator[bytes]:
    """At least one: an empty file is a file."""
    yield next(found, b"")
    yield from found


def read(connection: Connection, run: str, path: str) -> bytes | None:
    rows = connection.execute(
        "SELECT data FROM files WHERE run = %s AND path = %s ORDER BY part", (run, path)
    ).fetchall()
    return b"".join(row["data"] or b"" for row in rows) if rows else None


def read_many(
    connection: Connection, wanted: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], bytes]:
    """Small files of several runs by one question."""
    rows = connection.execute(
        "SELECT files.run, files.path, data FROM unnest(%s::text[], %s::text[]) AS w (run, path) "
        "JOIN files ON files.run = w.run AND files.path = w.path ORDER BY 1, 2, part",
        ([run for run, _ in wanted], [path for _, path in wanted]),
    )
    found: dict[tuple[str, str], bytes] = {}
    for row in rows:
        key = (row["run"], row["path"])
        found[key] = found.get(key, b"") + (row["data"] or b"")
    return found


def listed(connection: Connection, run: str, below: str = "") -> list[ListedFile]:
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
    """Whoever may write to the database could name any file of ours."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and "\0" not in path


def fetch(
    connection: Connection, run: str, files: Sequence[ListedFile], into: Path, url: str
) -> None:
    """Bring files of a run to its folder here; a result and a log never change once they exist."""
    for file in files:
        target = into / file.path
        beside = "/" not in file.path or file.path.endswith(_OURS[1])
        if not beside and target.is_file() and target.stat().st_size == file.size:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(target) as temporary, temporary.open("wb") as copy:
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
            f"{run}/{file.path} lies in an object store that the URL does not name.",
            hint="Add it, as its writers did: postgresql://…?files=s3://BUCKET/FOLDER",
        )
    with _object(url, run, file.path, "rb") as source:
        yield from iter(lambda: source.read(PIECE), b"")


def remove(connection: Connection, run: str, below: str, url: str) -> None:
    for file in listed(connection, run, below):
        if not file.here and url:
            with _talking(url) as (system, place):
                system.rm_file(f"{place}/{run}/{file.path}")
    connection.execute("DELETE FROM files WHERE run = %s AND starts_with(path, %s)", (run, below))


@contextmanager
def _object(url: str, run: str, path: str, mode: str) -> Iterator[Any]:
    with _talking(url) as (system, place):
        if "w" in mode and not objects.is_remote(url):
            system.makedirs(f"{place}/{run}/{path}".rpartition("/")[0], exist_ok=True)
        with system.open(f"{place}/{run}/{path}", mode) as opened:
            yield opened


@contextmanager
def _talking(url: str) -> Iterator[tuple[Any, str]]:
    """fsspec's file system for a URL, and the place there; what goes wrong is said in words."""
    try:
        if objects.is_remote(url):
            with objects.talking(url) as system:
                yield system, url.partition("://")[2].rstrip("/")
        else:
            import fsspec

            system, place = fsspec.core.url_to_fs(url)
            yield system, str(place).rstrip("/")
    except (OSError, ValueError, ImportError, AssayError) as error:
        raise StoreError(
            f"The object store {without_tokens(url)} cannot be used "
            f"({without_tokens(str(error)).rstrip('.')}).",
            hint=getattr(error, "hint", "") or HINT,
        ) from None
