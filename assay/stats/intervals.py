"""Quantile and confidence interval, adjusted for autocorrelation.

Method, alternatives and measured coverage: docs/design/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from assay.stats.student import two_sided

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"  # as text: command completion does not load numpy

# Corrections of the inefficiency, which is underestimated on short series, with long memory, and at
# the look that stops; by simulation (benchmarks/coverage.py).
_STOPPED = 0.14
_STOPPED_EARLY = 25  # independent values; with more, stopping by chance is rarer
_SHORT = 1.0
_SHORT_MEMORY = 55.0

# Chance correlation of independent values, times the root of their number. Not applied to shorter
# series than _CHANCE_FROM.
_CHANCE = 2.5
_CHANCE_FROM = 60

_COSINES = 8
_SWINGS_FROM = 20  # minimum number of values
_CLEARLY = 2.0  # the mean of 8 squared cosines of noise is above this in 4 % of series


class Estimate(NamedTuple):
    """A number, its 95 % interval (nan if there is none), and its effective sample size."""

    value: float
    low: float
    high: float
    effective: float

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2


def quantile(values: Sequence[float] | Array, share: float = 0.5) -> Estimate:
    """A quantile with the interval of Woodruff (1952), with the variance of a correlated series.

    The error of the mean of the indicators "value above quantile" gives the interval of ranks. No
    density and no shape is assumed.
    """
    array = np.asarray(values, dtype=np.float64)
    ordered = np.sort(array)
    count = len(ordered)
    middle = float(np.quantile(ordered, share))
    if count < 2:
        return Estimate(middle, math.nan, math.nan, 1.0)
    above = (array > middle).astype(np.float64)
    factor = inefficiency(above - above.mean())
    reach = student(count / factor - 1) * math.sqrt(share * (1 - share) * factor / count)
    places = (np.array([share - reach, share + reach]) * (count + 1) - 1).clip(0, count - 1)
    low, high = np.interp(places, np.arange(count), ordered)
    worth = min(count / factor, count)
    return Estimate(middle, min(float(low), middle), max(float(high), middle), worth)


def mean(values: Sequence[float] | Array) -> Estimate:
    array = np.asarray(values, dtype=np.float64)
    count, middle = len(array), float(np.mean(array))
    if count < 2:
        return Estimate(middle, math.nan, math.nan, 1.0)
    factor = inefficiency(array - middle)
    error = float(np.std(array, ddof=1)) * math.sqrt(factor / count)
    reach = student(count / factor - 1) * error
    low = max(middle - reach, float(array.min()))
    return Estimate(middle, low, middle + reach, count / factor)


def interval_over_processes(middles: Sequence[float]) -> Estimate:
    """Student's interval over the logarithms of the processes' medians.

    Times are positive and differ by factors, so the interval stays above zero.
    """
    logs = np.log(np.asarray(middles, dtype=np.float64))
    count, middle = len(logs), float(np.mean(logs))
    if count < 2:
        return Estimate(middles[0], math.nan, math.nan, 1.0)
    reach = student(count - 1) * float(np.std(logs, ddof=1)) / math.sqrt(count)
    low, value, high = np.exp([middle - reach, middle, middle + reach]).tolist()
    return Estimate(value, low, high, float(count))


def inefficiency(deviations: Array) -> float:
    """Number of values worth one independent value; about 1 without autocorrelation.

    From the autocorrelation, or from slow oscillations if those are clearly larger.
    """
    count, power = len(deviations), float(np.mean(deviations**2)) if len(deviations) else 0.0
    if count < 4 or power <= 0:
        return 1.0
    near = _subtract_chance(_initial_sequence(deviations), count)
    stopped = _STOPPED * min(1.0, _STOPPED_EARLY * near / count)
    near *= 1 + stopped + (_SHORT + _SHORT_MEMORY * max(near - 1, 0.0)) / count
    if count < _SWINGS_FROM:
        return near
    slow = _swings(deviations) / power
    return slow if slow > _CLEARLY * near else near


def _subtract_chance(near: float, count: int) -> float:
    """Subtract correlation explained by chance; beyond twice that amount nothing is subtracted."""
    if near <= 1 or count < _CHANCE_FROM:
        return near
    return 1 + min(near - 1, max(0.0, 2 * (near - 1 - _CHANCE / math.sqrt(count))))


def _initial_sequence(deviations: Array) -> float:
    """Sum of the autocorrelations up to where pairs of them turn negative, each pair at most as
    large as the one before: the initial monotone sequence of Geyer (1992)."""
    count = len(deviations)
    spectrum = np.fft.rfft(deviations, 1 << (2 * count - 1).bit_length())
    covariances = np.fft.irfft(np.abs(spectrum) ** 2)[: count - count % 2]
    pairs = (covariances[0::2] + covariances[1::2]) / covariances[0]
    positive = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    total = 2 * float(np.minimum.accumulate(pairs[:positive]).sum()) - 1
    return max(
        total, 0.3
    )  # lower bound for alternating values, which are worth more than independent ones


def _swings(deviations: Array) -> float:
    """Power of the slowest cosines (equally weighted: Lazarus, Lewis, Stock and Watson 2018).

    Geyer's sum ends at the first negative pair and misses slow oscillations under strong noise.
    """
    count = len(deviations)
    size = -(-count // 512)  # slow cosines change little within a block
    sums = np.add.reduceat(deviations, np.arange(0, count, size))
    middles = np.minimum(np.arange(len(sums)) * size + size / 2, count) / count
    waves = np.cos(np.pi * np.arange(1, _COSINES + 1)[:, None] * middles)
    return float(np.mean((waves @ sums) ** 2)) * 2 / count


def student(degrees: float) -> float:
    """The 97.5 % point of Student's t; below one degree of freedom that of one."""
    return two_sided(0.05, max(degrees, 1.0))
