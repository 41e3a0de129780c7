"""Stopping rule of sampling.

Stopping at the first narrow interval of many reduces coverage. So looks are few (geometric), the
first is not too early, and two intervals in a row have to be narrow. benchmarks/coverage.py
measures the coverage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.stats.intervals import Estimate

FIRST = 14  # samples before the first look
GROWTH = 1.5  # from look to look
EFFECTIVE = 4.0  # minimum effective sample size
CONFIRMATIONS = 2  # consecutive looks with a narrow interval


def next_look(count: int) -> int:
    """Number of samples at the next look, after a look at `count`."""
    return max(FIRST, math.ceil(count * GROWTH))


def is_narrow(estimate: Estimate, target: float) -> bool:
    """Whether the relative half-width of the interval reaches the target."""
    return estimate.effective >= EFFECTIVE and estimate.half_width <= target * estimate.value


def is_confirmed(looks: Sequence[bool]) -> bool:
    """Whether the interval was narrow at the last looks."""
    return len(looks) >= CONFIRMATIONS and all(looks[-CONFIRMATIONS:])
