"""Unreadable rows of an index: skipped, and rebuilt from their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from assay.core import codec

if TYPE_CHECKING:
    import sqlite3

    Row = sqlite3.Row | Mapping[str, Any]

T = TypeVar("T")
Skipped = set[str]  # records of series in unreadable rows


def readable(rows: Iterable[Row], record: Callable[[Any], T], skipped: Skipped) -> Iterator[T]:
    """Records of rows; unreadable ones are added to `skipped`."""
    for row in rows:
        try:
            yield record(row)
        except codec.UNREADABLE:
            skipped.add(row["record"])


class Repairer:
    """Repeats a query after `mend` has rebuilt unreadable rows, once per row."""

    def __init__(self, mend: Callable[[], None]) -> None:
        self._mend = mend
        self._known: Skipped = set()  # beyond repair

    def ask(self, question: Callable[[Skipped], T]) -> T:
        skipped: Skipped = set()
        records = question(skipped)
        if skipped <= self._known:
            return records
        self._mend()
        skipped.clear()
        records = question(skipped)
        self._known |= skipped
        return records
