"""Where the steady part of a series of step times begins, by a test on the values themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from assay.stats.decay import Decay, find_decay
from assay.stats.intervals import Array, quantile

LEAST = 12  # values; fewer cannot tell
BLOCKS = 64  # at most, whatever the number of values: each look costs about the same
SAME = 0.005  # two halves whose medians differ less are the same for our purpose
SURE = 3.0  # standard errors; two medians further apart than these, and than SAME, differ
MOST_CUT, CUTS = 2 / 3, 17  # of the values, for a slow change; and how many places are tried
TOLERATED = 0.25  # standard errors of the middle that a slow change may have left


class Steady(NamedTuple):
    """From `start` on the values are steady; or they never are; or there are too few to say.

    If they are still `warming`, a slow change is not over: by so much they `moved` meanwhile.
    """

    start: int
    verdict: Literal["steady", "unsteady", "warming", "too-few"]
    moved: float = 0.0


def find_steady(values: Sequence[float] | Array, before: Sequence[float] | Array = ()) -> Steady:
    """Cut off a beginning that clearly differs, then ask whether the rest is the same throughout.

    Values that never are steady are kept whole: no part of them is better than another. What was
    timed `before`, in the same way, shows a slow change that these alone do not.
    """
    both = (np.asarray(part, dtype=np.float64).tobytes() for part in (values, before))
    return _found(*both)


@lru_cache(maxsize=16)  # every doubt of a result asks this of the same values
def _found(values: bytes, before: bytes) -> Steady:
    array, earlier = np.frombuffer(values), np.frombuffer(before)
    if len(array) < LEAST:
        return Steady(0, "too-few")
    found = _steady_part(array)
    decay = find_decay(np.concatenate([earlier, array]))
    return _after(decay, array, len(earlier), found) if decay else found


def _steady_part(array: Array) -> Steady:
    start = _cut(array)
    if start and not differ(array[:start], array[start:]):
        start = 0
    if start is None or _changes(array[start:]):
        return Steady(0, "unsteady")
    return Steady(start, "steady")


def _after(decay: Decay, array: Array, before: int, found: Steady) -> Steady:
    """Cut where a decay no longer matters; or, if it still does, where it does least."""
    count = len(array)
    late = quantile(array[count // 2 :])
    cuts = np.linspace(found.start, max(found.start, MOST_CUT * count), CUTS).astype(int)
    left = np.array([decay.left(before + cut, before + count) for cut in cuts])
    errors = late.half_width / 1.96 * np.sqrt((count - count // 2) / (count - cuts))
    over = np.abs(left) <= TOLERATED * errors
    if over.any():
        start = int(cuts[np.argmax(over)])
        return Steady(0, "unsteady") if _changes(array[start:]) else Steady(start, "steady")
    if decay.length >= before + count and found.verdict == "unsteady":
        return found  # a trend without an end
    best = int(np.argmin(left**2 + errors**2))
    return Steady(int(cuts[best]), "warming", decay.moved(before, before + count))


def _changes(rest: Array) -> bool:
    """Whether the second half, or the last eighth, is another matter than what is before it."""
    half, last = len(rest) // 2, len(rest) // 8
    if differ(rest[:half], rest[half:]):
        return True
    return last >= LEAST and differ(rest[:-last], rest[-last:])


def differ(early: Array, late: Array) -> bool:
    """Whether two medians are further apart than chance, and than what matters.

    Chance is judged by the later values alone: if the earlier ones drift, their own spread says so
    by being large, and would hide what it should show.
    """
    second = quantile(late)
    doubt = second.half_width / 1.96 * math.sqrt(1 + len(late) / len(early))
    apart = abs(float(np.median(early)) - second.value)
    return apart > max(SAME * second.value, SURE * doubt)


def _cut(array: Array) -> int | None:
    """MSER (White 1997): the cut that leaves the least squared standard error of what remains.

    None if that would leave less than a third: then the values still change.

    On medians of blocks, held within the range of the second half, so that one slow step
    (a page fault, one more compilation) decides nothing.
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
