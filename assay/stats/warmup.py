"""Detect the start of the steady part of a series of step times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from assay.stats.decay import Decay, find_decay
from assay.stats.intervals import Array, quantile

MIN_VALUES = 12  # minimum number of values
BLOCKS = 64  # at most, so that the cost does not grow with the number of values
MIN_DIFFERENCE = 0.005  # relative difference of medians that is ignored
SIGNIFICANCE = 3.0  # standard errors; medians further apart than this and SAME differ
MAX_CUT, CUTS = 2 / 3, 17  # largest share to cut for a slow change, and number of cuts to try
MAX_REMAINDER = 0.25  # standard errors of the median that a slow change may leave


class Steady(NamedTuple):
    """Values are steady from `start` on, or never, or there are too few.

    `warming`: a slow change is not over; `moved` is its size so far.
    """

    start: int
    verdict: Literal["steady", "unsteady", "warming", "too-few"]
    drift: float = 0.0


def find_steady(values: Sequence[float] | Array, before: Sequence[float] | Array = ()) -> Steady:
    """Cut off a start that clearly differs, then test whether the rest is steady.

    Nothing is cut from values that are never steady. Comparable earlier values (`before`) help to
    detect a slow change.
    """
    both = (np.asarray(part, dtype=np.float64).tobytes() for part in (values, before))
    return _find_steady(*both)


@lru_cache(maxsize=16)  # every doubt of a result calls it with the same values
def _find_steady(values: bytes, before: bytes) -> Steady:
    array, earlier = np.frombuffer(values), np.frombuffer(before)
    if len(array) < MIN_VALUES:
        return Steady(0, "too-few")
    steady = _steady_part(array)
    decay = find_decay(np.concatenate([earlier, array]))
    return _after_decay(decay, array, len(earlier), steady) if decay else steady


def _steady_part(array: Array) -> Steady:
    start = _cut(array)
    if start and not differ(array[:start], array[start:]):
        start = 0
    if start is None or _changes(array[start:]):
        return Steady(0, "unsteady")
    return Steady(start, "steady")


def _after_decay(decay: Decay, array: Array, before: int, steady: Steady) -> Steady:
    """Cut where a decay is negligible, or where it is smallest."""
    count = len(array)
    late = quantile(array[count // 2 :])
    cuts = np.linspace(steady.start, max(steady.start, MAX_CUT * count), CUTS).astype(int)
    left = np.array([decay.remainder(before + cut, before + count) for cut in cuts])
    errors = late.half_width / 1.96 * np.sqrt((count - count // 2) / (count - cuts))
    over = np.abs(left) <= MAX_REMAINDER * errors
    if over.any():
        start = int(cuts[np.argmax(over)])
        return Steady(0, "unsteady") if _changes(array[start:]) else Steady(start, "steady")
    if decay.length >= before + count and steady.verdict == "unsteady":
        return steady  # an ongoing trend
    best = int(np.argmin(left**2 + errors**2))
    return Steady(int(cuts[best]), "warming", decay.change(before, before + count))


def _changes(rest: Array) -> bool:
    """Whether the second half or the last eighth differs from the values before."""
    half, last = len(rest) // 2, len(rest) // 8
    if differ(rest[:half], rest[half:]):
        return True
    return last >= MIN_VALUES and differ(rest[:-last], rest[-last:])


def differ(early: Array, late: Array) -> bool:
    """Whether two medians differ significantly and relevantly.

    The error is estimated from the later values only: drift of the earlier ones would inflate it.
    """
    second = quantile(late)
    doubt = second.half_width / 1.96 * math.sqrt(1 + len(late) / len(early))
    difference = abs(float(np.median(early)) - second.value)
    return difference > max(MIN_DIFFERENCE * second.value, SIGNIFICANCE * doubt)


def _cut(array: Array) -> int | None:
    """MSER (White 1997): the cut with the smallest squared standard error of the rest.

    None if less than a third would remain: the values still change. Uses medians of blocks, clipped
    to the range of the second half, so that one slow step (a page fault, a compilation) does not
    matter.
    """
    size = max(1, len(array) // BLOCKS)
    count = len(array) // size
    first = len(array) - count * size  # the odd values at the beginning go with the first block
    blocks = np.median(array[first:].reshape(count, size), axis=1)
    low, middle, high = np.quantile(blocks[count // 2 :], (0.1, 0.5, 0.9))
    blocks = blocks.clip(middle - 4 * (middle - low), middle + 4 * (high - middle))
    left = np.arange(count, 0, -1)
    sums, squares = (np.cumsum(part[::-1])[::-1] for part in (blocks, blocks**2))
    errors = (squares - sums**2 / left) / left**2
    cut = int(np.argmin(errors[: 2 * count // 3 + 1]))
    if cut == 2 * count // 3:
        return None
    return first + cut * size if cut else 0
