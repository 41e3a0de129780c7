"""How much of a slow change is still to come: a decay fitted to the whole series of step times.

A processor that heats up, a cache or an allocator that fills: what remains of it within the samples
is soon smaller than their noise, and yet larger than their interval. A comparison of two halves
does not see it; a fit to all values, from the first step of the warm-up on, does.
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
WINDOW = 16  # values at least, whose median is their level
OUTLYING = 2.5  # standard deviations from that level; what is beyond is held there
SURE = 2.5  # standard errors; of series without a decay 1 to 3 % have one as clear, by chance


class Decay(NamedTuple):
    """An exponential towards the end of the series: `height` at `begin`, in seconds."""

    height: float
    length: float  # values, to 1/e
    begin: int = 0  # values before it, of another kind

    def left(self, start: int, count: int) -> float:
        """Its mean from `start` to the end of a series of `count`: what a middle is off by."""
        return -self.moved(start, count) * self.length / max(count - start, 1)

    def moved(self, start: int, end: int) -> float:
        """By how much it changes the values from one place to another; negative: they fall."""
        first, last = (max(at - self.begin, 0) / self.length for at in (start, end))
        return self.height * (math.exp(-last) - math.exp(-first))


def find_decay(values: Sequence[float] | Array) -> Decay | None:
    """The exponential that explains most of the variance, if chance does not explain it too.

    Where one jump explains clearly more, as of a program that was compiled anew, what comes after
    the jump is asked alone.
    """
    array = np.asarray(values, dtype=np.float64)
    if len(array) < 2 * WINDOW:
        return None
    size = -(-len(array) // BLOCKS)
    count = len(array) // size
    first = len(array) - count * size
    blocks = _held(array)[first:].reshape(count, size).mean(axis=1)
    blocks -= blocks.mean()
    shapes, powers = _shapes(count)
    heights = shapes @ blocks / powers
    best = int(np.argmax(heights**2 * powers))
    if jump := _jump(blocks, float(heights[best] ** 2 * powers[best])):
        begin = first + jump * size
        after = find_decay(array[begin:])
        return after and after._replace(begin=begin + after.begin)
    error = _error(blocks - heights[best] * shapes[best]) / math.sqrt(powers[best])
    if abs(heights[best]) <= SURE * error:
        return None
    return Decay(float(heights[best]), LENGTHS[best] * len(array))


def _jump(blocks: Array, explained: float) -> int:
    """After how many blocks the mean jumps, if that explains clearly more than this; else 0."""
    count = len(blocks)
    sizes = np.arange(1, count)
    sums = np.cumsum(blocks)[:-1]
    explains = sums**2 * count / (sizes * (count - sizes))
    best = int(np.argmax(explains))
    size = best + 1
    levels = np.repeat([sums[best] / size, -sums[best] / (count - size)], [size, count - size])
    clearly = (SURE * _error(blocks - levels)) ** 2
    return size if explains[best] - explained > clearly else 0


def _error(rest: Array) -> float:
    """Standard deviation of what is left, as if every block told nothing of the next."""
    return math.sqrt(inefficiency(rest) * float(rest.var(ddof=3)))


def _held(array: Array) -> Array:
    """Outliers, and the smaller of two groups, held near the level of the values around them."""
    size = max(WINDOW, len(array) // (2 * WINDOW))
    count = len(array) // size
    first = len(array) - count * size  # the odd values at the beginning go with the first window
    medians = np.median(array[first:].reshape(count, size), axis=1)
    level = np.repeat(medians, [first + size, *[size] * (count - 1)])
    spread = OUTLYING * 1.4826 * float(np.median(np.abs(array - level)))
    return array.clip(level - spread, level + spread)


@cache
def _shapes(count: int) -> tuple[Array, Array]:
    """A row for each length, with mean zero, and the sum of its squares."""
    places = (np.arange(count) + 0.5) / count
    rows = np.exp(-places / np.array(LENGTHS)[:, None])
    rows -= rows.mean(axis=1, keepdims=True)
    return rows, (rows**2).sum(axis=1)
