"""A log that keeps its beginning and its end, however much is printed between."""

from __future__ import annotations

from pathlib import Path

HEAD = 1 << 20  # bytes kept of the beginning
TAIL = 1 << 20  # bytes kept of the end


class KeptLog:
    """What a worker prints. The middle of a flood is counted, not kept: disks are finite."""

    def __init__(self, path: Path, head: int = HEAD, tail: int = TAIL) -> None:
        self._file = path.open("wb", buffering=0)
        self._head, self._tail = head, tail
        self._end = bytearray()
        self._dropped = 0

    def write(self, chunk: bytes) -> None:
        now, later = chunk[: self._head], chunk[self._head :]
        if now:
            self._file.write(now)
            self._head -= len(now)
        self._end += later
        if len(self._end) > 2 * self._tail:
            self._cut()

    def close(self) -> None:
        self._cut()
        if self._dropped:
            self._file.write(b"\n... %d bytes left out ...\n" % self._dropped)
        self._file.write(self._end)
        self._file.close()

    def _cut(self) -> None:
        extra = max(0, len(self._end) - self._tail)
        self._dropped += extra
        del self._end[:extra]
