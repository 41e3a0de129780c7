"""Outbox of stores and uploads: one file in the home folder for each thing not yet received.

No file holds a password: a store's URL is written without it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from assay.core import codec, settings
from assay.core.errors import UsageError
from assay.core.files import modified_time, read_plain, write_atomic
from assay.core.redaction import safe_message
from assay.core.settings import Home
from assay.core.systems import lock_file

FOLDER = "outbox"  # below the home folder
EXPIRY_DAYS = 30  # of uploads; results for a store do not expire
_MAX_BYTES = 1 << 30


class PendingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Rows or a folder for one sink, or a result for a store."""

    sink: Literal["bigquery", "objects", "metrics", "store", "unreadable"]
    place: str
    table: str = ""
    rows: list[dict[str, Any]] = []
    folder: str = ""
    reason: str = ""  # why the last attempt failed; for a store: why the server rejected it
    since: float = 0.0  # Unix time
    id: str = ""

    @property
    def expired(self) -> bool:
        return self.sink != "store" and time.time() - self.since > EXPIRY_DAYS * 86_400


def make_id(*words: object) -> str:
    """Equal for equal entries, so that duplicates are stored once."""
    return hashlib.sha256(codec.encode(list(words))).hexdigest()[:24]


def enqueue(entries: Sequence[PendingEntry], home: Home) -> None:
    for entry in entries:
        path = _path(entry.id, home)
        whole = msgspec.structs.replace(entry, since=entry.since or time.time())
        from assay.core.corrupt import explain_write_errors  # here: it loads zipfile

        with explain_write_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, codec.encode(whole))


def entries(home: Home) -> Iterator[PendingEntry]:
    """Oldest first. A file that cannot be read is an entry too, with the reason."""
    files = (settings.home(home) / FOLDER).glob("[!.]*.json")  # not those being written
    for path in sorted(files, key=modified_time):
        since = modified_time(path)
        try:
            entry = msgspec.json.decode(read_plain(path, _MAX_BYTES), type=PendingEntry)
            yield msgspec.structs.replace(entry, id=path.stem, since=entry.since or since)
        except FileNotFoundError:  # it was sent meanwhile
            continue
        except (msgspec.DecodeError, OSError) as error:
            reason = f"The file cannot be read: {error}"
            yield PendingEntry(
                sink="unreadable", place=str(path), reason=reason, since=since, id=path.stem
            )


def note_failure(entry: PendingEntry, reason: str, home: Home) -> None:
    """Store why an entry could not be sent."""
    line = " ".join(safe_message(reason).split())
    if line != entry.reason and entry.sink != "unreadable":
        enqueue([msgspec.structs.replace(entry, reason=line)], home)


def remove(entry: PendingEntry, home: Home) -> None:
    _path(entry.id, home).unlink(missing_ok=True)


def forget(text: str, home: Home) -> PendingEntry:
    """Remove the entry with this id, or with an id that begins so."""
    known = {entry.id: entry for entry in entries(home)}
    matches = [entry_id for entry_id in known if text and entry_id.startswith(text)]
    if len(matches) != 1:
        names = ", ".join(entry_id[:8] for entry_id in known)
        raise UsageError(
            f"{len(matches) or 'No'} pending uploads have the id '{text}'; one is expected.",
            hint=f"Known: {names}." if names else "Nothing is pending.",
        )
    remove(known[matches[0]], home)
    return known[matches[0]]


@contextmanager
def only_sender(home: Home, wait: bool = True) -> Iterator[None]:
    """Lock the outbox, so that nothing is sent twice; BlockingIOError if another process sends and
    this one does not `wait`."""
    folder = settings.home(home) / FOLDER
    from assay.core.corrupt import explain_write_errors  # here: it loads zipfile

    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "ab") as file:
        lock_file(file, wait)
        yield


def _path(entry_id: str, home: Home) -> Path:
    return settings.home(home) / FOLDER / f"{entry_id}.json"
