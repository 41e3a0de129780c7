"""Fit an exponential decay to the whole series of step times, to estimate the remaining drift.

The remaining effect of a processor that heats up, or of a cache or allocator that fills, is soon
smaller than the noise of the samples, but larger than their interval. A comparison of two halves
misses it; a fit to all values from the first step of the warm-up on does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from assay.stats.intervals import Array, inefficiency

BLOCKS = 128  # means at most, whatever the number of values
LENGTHS = tuple(32.0 ** (place / 20 - 1) for place in range(21))  # of the series, to 1/e
WINDOW = 16  # minimum number of values for a local median
OUTLIER = 2.5  # standard deviations from that median; values beyond are clipped
SIGNIFICANCE = 2.5  # standard errors; 1 to 3 % of series without a decay exceed it by chance


class Decay(NamedTuple):
    """An exponential towards the end of the series: `height` at `begin`, in seconds."""

    height: float
    length: float  # values, to 1/e
    begin: int = 0  # values before the decay

    def remainder(self, start: int, count: int) -> float:
        """Its mean from `start` to the end of a series of `count`: the bias of a median."""
        return -self.change(start, count) * self.length / max(count - start, 1)

    def change(self, start: int, end: int) -> float:
        """Change of the values from one index to another; negative: they fall."""
        first, last = (max(index - self.begin, 0) / self.length for index in (start, end))
        return self.height * (math.exp(-last) - math.exp(-first))


def find_decay(values: Sequence[float] | Array) -> Decay | None:
    """The exponential that explains most of the variance, if it is significant.

    If a single jump explains clearly more, as after a recompilation, only the values after the jump
    are used.
    """
    array = np.asarray(values, dtype=np.float64)
    if len(array) < 2 * WINDOW:
        return None
    size = -(-len(array) // BLOCKS)
    count = len(array) // size
    first = len(array) - count * size
    blocks = _clip_outliers(array)[first:].reshape(count, size).mean(axis=1)
    blocks -= blocks.mean()
    shapes, powers = _shapes(count)
    heights = shapes @ blocks / powers
    best = int(np.argmax(heights**2 * powers))
    if jump := _find_jump(blocks, float(heights[best] ** 2 * powers[best])):
        begin = first + jump * size
        after = find_decay(array[begin:])
        return after and after._replace(begin=begin + after.begin)
    error = _error(blocks - heights[best] * shapes[best]) / math.sqrt(powers[best])
    if abs(heights[best]) <= SIGNIFICANCE * error:
        return None
    return Decay(float(heights[best]), LENGTHS[best] * len(array))


def _find_jump(blocks: Array, explained: float) -> int:
    """Number of blocks before a jump, if it explains clearly more than `explained`; else 0."""
    count = len(blocks)
    sizes = np.arange(1, count)
    sums = np.cumsum(blocks)[:-1]
    explains = sums**2 * count / (sizes * (count - sizes))
    best = int(np.argmax(explains))
    size = best + 1
    levels = np.repeat([sums[best] / size, -sums[best] / (count - size)], [size, count - size])
    threshold = (SIGNIFICANCE * _error(blocks - levels)) ** 2
    return size if explains[best] - explained > threshold else 0


def _error(rest: Array) -> float:
    """Standard deviation of the residuals, corrected for their correlation."""
    return math.sqrt(inefficiency(rest) * float(rest.var(ddof=3)))


def _clip_outliers(array: Array) -> Array:
    """Clip outliers, and the smaller of two modes, to near the local median."""
    size = max(WINDOW, len(array) // (2 * WINDOW))
    count = len(array) // size
    first = len(array) - count * size  # the odd values at the beginning go with the first window
    medians = np.median(array[first:].reshape(count, size), axis=1)
    level = np.repeat(medians, [first + size, *[size] * (count - 1)])
    spread = OUTLIER * 1.4826 * float(np.median(np.abs(array - level)))
    return array.clip(level - spread, level + spread)


@cache
def _shapes(count: int) -> tuple[Array, Array]:
    """A row for each length, with mean zero, and its sum of squares."""
    positions = (np.arange(count) + 0.5) / count
    rows = np.exp(-positions / np.array(LENGTHS)[:, None])
    rows -= rows.mean(axis=1, keepdims=True)
    return rows, (rows**2).sum(axis=1)
