"""Rows of an index that cannot be read: passed over, and made anew from the results they are of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from assay.core import codec

if TYPE_CHECKING:
    import sqlite3

    Row = sqlite3.Row | Mapping[str, Any]

T = TypeVar("T")
Skipped = set[str]  # records of series in rows that could not be read


def readable(rows: Iterable[Row], record: Callable[[Any], T], skipped: Skipped) -> Iterator[T]:
    """The records of rows, without those that cannot be read, which are noted."""
    for row in rows:
        try:
            yield record(row)
        except codec.UNREADABLE:
            skipped.add(row["record"])


class Mender:
    """Asks again once `mend` has made unreadable rows anew; what it cannot mend is tried once."""

    def __init__(self, mend: Callable[[], None]) -> None:
        self._mend = mend
        self._known: Skipped = set()  # beyond repair

    def ask(self, question: Callable[[Skipped], T]) -> T:
        skipped: Skipped = set()
        answer = question(skipped)
        if skipped <= self._known:
            return answer
        self._mend()
        skipped.clear()
        answer = question(skipped)
        self._known |= skipped
        return answer
