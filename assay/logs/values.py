"""Values of one metric in order; older ones are moved to a file."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterator, Sequence
from typing import IO

MAX_RECENT = 1 << 15  # values held in memory
_SIZE = 8  # bytes of a double


class Values:
    """A list of floats with bounded memory."""

    def __init__(self, limit: int = MAX_RECENT) -> None:
        self._kept = limit
        self._recent: array[float] = array("d")
        self._file: IO[bytes] | None = None
        self._spilled = 0

    def __len__(self) -> int:
        return self._spilled + len(self._recent)

    def extend(self, values: Sequence[float]) -> None:
        self._recent.extend(values)
        if len(self._recent) >= self._kept:
            self._spill()

    def chunks(self, skip: int = 0) -> Iterator[array[float]]:
        """All values after the first `skip`, in chunks."""
        if self._file:
            for start in range(min(skip, self._spilled), self._spilled, self._kept):
                count = min(self._kept, self._spilled - start)
                self._file.seek(start * _SIZE)
                piece: array[float] = array("d")
                piece.frombytes(self._file.read(count * _SIZE))
                yield piece
        rest = self._recent[max(0, skip - self._spilled) :]
        if rest:
            yield rest

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _spill(self) -> None:
        if not self._file:
            self._file = tempfile.TemporaryFile(prefix="assay-values-")  # noqa: SIM115 (lives on)
        self._file.seek(0, 2)
        self._file.write(memoryview(self._recent).cast("B"))
        self._spilled += len(self._recent)
        self._recent = array("d")
