"""Two sets of results side by side: ratios of their cases, and geometric means."""

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
