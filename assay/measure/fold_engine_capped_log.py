"""A log that keeps its beginning and its end, however much is printed between."""

from __future__ import annotations

from contextlib import suppress
from io import FileIO
from pathlib import Path

HEAD = 1 << 20  # bytes kept of the beginning
TAIL = 1 << 20  # bytes kept of the end


class KeptLog:
    """What a worker prints. The middle of a flood is counted, not kept: disks are finite."""

    def __init__(self, path: Path, head: int = HEAD, tail: int = TAIL) -> None:
        self._file: FileIO | None = None
        with suppress(OSError):
            self._file = path.open("wb", buffering=0)
        self._head, self._tail = head, tail
        self._end = bytearray()
        self._dropped = 0

    def write(self, chunk: bytes) -> None:
        now, later = chunk[: self._head], chunk[self._head :]
        if now:
            self._put(now)
            self._head -= len(now)
        self._end += later
        if len(self._end) > 2 * self._tail:
            self._cut()

    def close(self) -> None:
        self._cut()
        if self._dropped:
            self._put(b"\n... %d bytes left out ...\n" % self._dropped)
        self._put(self._end)
        if self._file:
            self._file.close()

    def _put(self, data: bytes | bytearray) -> None:
        """As far as the disk has room: a measurement does not end for its log."""
        with suppress(OSError):
            if self._file:
                self._file.write(data)

    def _cut(self) -> None:
        extra = max(0, len(self._end) - self._tail)
        self._dropped += extra
        del self._end[:extra]
