"""Confidence interval over independent pairs that is valid at every look.

Pocock (1977): test at every look with the same, smaller level. With Student's t instead of the
normal distribution (Jennison and Turnbull 2000, 4.4) the joint distribution of all looks has no
unknown parameter, so the level was computed by simulation: docs/design/compare.md.

The noise of pairs differs; Student's t over independent, symmetric values of unequal
spread errs less often than its level, for levels up to 8 % (Bakirov and Székely 2006; Ibragimov
and Müller 2010). But one disturbed pair can widen it without limit. So a part of the
level goes to a second interval, about the mean without the lowest and highest fifth
(Yuen 1974), and the narrower of the two is taken: both hold at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.stats.intervals import Array
from assay.stats.student import two_sided

MIN_PAIRS, MAX_PAIRS = 3, 60  # pairs: a look after each of these
CONFIDENCE = 0.98  # that no look excludes the true value
LEVEL_NOTE = (
    "98 %: no interval after any pair excludes the true value, in 98 % of comparisons; "
    "other tables show 95 % for a single look"
)
LEVEL = 0.0016  # of each of the 58 looks, so that together they err in 2 %
# Of the level, for Student's interval and for the trimmed one: by simulation, 1.97 % together.
PLAIN, TRIMMED = 13 / 16, 3 / 16
MIN_TRIMMED = 6  # pairs; of fewer, too little is left after trimming
TRIM = 0.2  # of the values, at each end


class Interval(NamedTuple):
    """A mean and its half-width, infinite with too few values."""

    middle: float
    reach: float
    spread: float  # standard deviation, of the trimmed values for a trimmed interval

    @property
    def low(self) -> float:
        return self.middle - self.reach

    @property
    def high(self) -> float:
        return self.middle + self.reach


def interval(values: Sequence[float], level: float = LEVEL) -> Interval:
    array = np.asarray(values, dtype=np.float64)
    if len(array) < MIN_PAIRS:
        spread = float(np.std(array, ddof=1)) if len(array) > 1 else math.nan
        return Interval(float(np.mean(array)), math.inf, spread)
    middle, half_width, spread = (float(part) for part in narrower_interval(array, level))
    return Interval(middle, half_width, spread)


def narrower_interval(values: Array, level: float = LEVEL) -> tuple[Array, Array, Array]:
    """Middle, reach and spread of the narrower interval, along the last axis."""
    count = values.shape[-1]
    spread = np.std(values, axis=-1, ddof=1)
    plain = np.mean(values, axis=-1), reach(1.0, count, level) * spread, spread
    if count < MIN_TRIMMED:
        return plain
    trimmed = _trimmed_interval(values, level)
    better = trimmed[1] < plain[1]
    first, second, third = (np.where(better, t, p) for t, p in zip(trimmed, plain, strict=True))
    return first, second, third


def reach(spread: float, count: int, level: float = LEVEL) -> float:
    """Half-width of Student's interval."""
    return spread * two_sided(PLAIN * level, count - 1) / math.sqrt(count)


def _trimmed_interval(values: Array, level: float) -> tuple[Array, Array, Array]:
    """Trimmed mean; its error is from Winsorized values."""
    ordered, count = np.sort(values, axis=-1), values.shape[-1]
    cut = max(1, int(TRIM * count))
    inner = ordered[..., cut : count - cut]
    winsorized = np.clip(ordered, inner[..., :1], inner[..., -1:])
    spread = np.std(winsorized, axis=-1, ddof=1) / (1 - 2 * cut / count)
    factor = two_sided(TRIMMED * level, inner.shape[-1] - 1) / math.sqrt(count)
    return np.mean(inner, axis=-1), factor * spread, spread
