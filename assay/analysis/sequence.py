"""An interval over independent pairs that stays right however often one looks at it.

Pocock (1977): test at every look with the same, smaller level. With Student's t instead of the
normal distribution (Jennison and Turnbull 2000, 4.4) the law of all looks together depends on
nothing unknown, so that the level was found by simulation: docs/design/compare.md.

A pair is as noisy as its minute was; Student's t over independent, symmetric values of unequal
spread errs less often than its level, for levels up to 8 % (Bakirov and Székely 2006; Ibragimov
and Müller 2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.analysis.student import two_sided

FEWEST, MOST = 3, 60  # pairs: a look after each of these
CONFIDENCE = 0.98  # that no look at all excludes the truth
LEVEL = 0.0016  # of each of the 58 looks, so that together they err in 2 %


class Interval(NamedTuple):
    """A mean and how far the truth may lie from it; infinitely far with too few values."""

    middle: float
    reach: float
    spread: float  # standard deviation of the values

    @property
    def low(self) -> float:
        return self.middle - self.reach

    @property
    def high(self) -> float:
        return self.middle + self.reach


def interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    array = np.asarray(values, dtype=np.float64)
    middle = float(np.mean(array))
    if len(array) < 2:
        return Interval(middle, math.inf, math.nan)
    spread = float(np.std(array, ddof=1))
    if len(array) < FEWEST:
        return Interval(middle, math.inf, spread)
    return Interval(middle, reach(spread, len(array), level), spread)


def reach(spread: float, count: int, level: float = LEVEL) -> float:
    """How far the interval of so many values goes to each side."""
    return spread * two_sided(level, count - 1) / math.sqrt(count)
