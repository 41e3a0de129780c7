"""Two sets of results side by side, case by case and together; and one that is measured again."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.findings import Quantity
from assay.core.records import SCHEMA


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one case in two sets of results; the ratio is second over first."""

    key: str
    metric: str
    first: Quantity
    second: Quantity
    ratio: float
    low: float
    high: float
    verdict: str  # faster, slower (of times), lower, higher, same, cannot-tell, not-comparable
    group: str = ""  # what it was asked to be grouped by
    notes: tuple[str, ...] = ()  # what differs besides, by name


class GroupMean(msgspec.Struct, frozen=True, kw_only=True):
    """The geometric mean of the ratios of several cases."""

    group: str  # "": all
    metric: str
    ratio: Quantity
    verdict: str


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """Two sets of results, case by case and together; ratios are candidate over baseline."""

    baseline: str
    candidate: str
    differences: tuple[Difference, ...]
    means: tuple[GroupMean, ...] = ()
    notes: tuple[str, ...] = ()
    minimum: float = 0.01  # what a smaller change is not called
    schema: int = SCHEMA
    kind: Literal["differences"] = "differences"


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a result comes out again, and what that takes."""

    id: str  # of the result
    repro: str  # short, to be typed by another person
    command: str  # that measures it again
    inputs: str  # SHA-256 of what was measured, and how
    answer: Literal[
        "reproduced", "differs", "undecided", "cannot", "possible"
    ]  # possible: not tried
    sentence: str
    lacking: tuple[str, ...] = ()  # what is not here, by name
    changed: tuple[str, ...] = ()  # what is not as it was
    ratio: Quantity | None = None  # of the new time to the old
    fastest: Quantity | None = None  # likewise, of the fastest steps alone
    again: str = ""  # id of the new result; of both, where it was measured twice
    files: tuple[str, ...] = ()  # that were written
    schema: int = SCHEMA
    kind: Literal["reproduction"] = "reproduction"
