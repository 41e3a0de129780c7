"""Results and documents that a PostgreSQL store has not received: stored here, sent later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assay.core import outbox
from assay.core.errors import AssayError, StoreError
from assay.core.outbox import PendingEntry
from assay.stores._pg_connection import RejectedError

Send = Callable[[Path], None]  # a result's folder, or a document of a run


class StoreOutbox:
    """The entries of the outbox that belong to one store, by its local folder."""

    def __init__(self, place: str, home: Path, runs: Path) -> None:
        self._place, self._home, self._runs = place, home, runs

    def put(self, path: Path, error: AssayError) -> StoreError:
        """Put a result's folder or a document into the outbox; returns the error to raise."""
        rejected = isinstance(error, RejectedError)
        entry = PendingEntry(
            sink="store",
            place=self._place,
            folder=str(path),
            reason=str(error) if rejected else "",
            id=outbox.make_id("store", str(path)),
        )
        outbox.enqueue([entry], self._home)
        when = "" if rejected else "The next command that uses this store sends it. "
        return StoreError(
            str(error),
            hint=f"It is stored in {path}. {when}To send it now: assay upload --pending; to list "
            "what is pending: assay upload --list-pending",
        )

    def send(self, send: Send, rejected: bool) -> list[str]:
        """Send each entry; returns the problems. One that the server rejects stops no other."""
        if not self._entries(rejected):
            return []
        problems = []
        try:
            with outbox.only_sender(self._home, wait=False):
                for entry in self._entries(rejected):
                    if problem := self._send_one(entry, send):
                        problems.append(problem)
        except BlockingIOError:  # another process sends them
            return []
        except AssayError as error:  # the server is away again, or the outbox cannot be written
            problems.append(f"Results of earlier commands were not sent. {error}")
        return problems

    def _entries(self, rejected: bool) -> list[PendingEntry]:
        return [
            entry
            for entry in outbox.entries(self._home)
            if entry.sink == "store"
            and Path(entry.folder).is_relative_to(self._runs)
            and (rejected or not entry.reason)
        ]

    def _send_one(self, entry: PendingEntry, send: Send) -> str:
        path = Path(entry.folder)
        try:
            if not path.exists():
                raise RejectedError(f"{path} no longer exists.")
            send(path)
        except RejectedError as error:
            outbox.note_failure(entry, str(error), self._home)
            return f"{path} could not be sent to {entry.place}; see assay upload --list-pending"
        outbox.remove(entry, self._home)
        return ""
