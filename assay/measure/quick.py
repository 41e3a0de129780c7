"""Quick runs: as many cases as fit into ten seconds, with a rough interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from assay.core.clock import Clock, clock

A = TypeVar("A")

QUICK_SECONDS = 9.0  # for all cases; the command itself takes the rest of ten seconds
QUICK_BUDGET = 1.5  # seconds of samples of a case
QUICK_TAG = {"quick": "10s"}  # of the results, which say so wherever they are shown


class TimeLimit:
    """Cases that are begun while there is time for one as long as the longest before it."""

    def __init__(self, seconds: float | None = None, now: Clock = clock) -> None:
        self._now, self._end = now, now() + (QUICK_SECONDS if seconds is None else seconds)

    def within(self, items: Sequence[A]) -> Iterator[A]:
        """The first, whatever it takes, and the others until the time is up."""
        longest = 0.0
        for number, item in enumerate(items):
            began = self._now()
            if number and began + longest > self._end:
                return
            yield item
            longest = max(longest, self._now() - began)
