"""Accuracy that a change costs, from the same pictures before and after; what may be promised.

Both networks see the same pictures, so that only those count on which one is right and the other
wrong: chance in the choice of pictures, which makes two accuracies differ, is the same for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Z95 = 1.959964  # two-sided 95 %
ONE_SIDED = 1.644854  # one-sided 95 %
Flags = NDArray[np.bool_]


class Loss(NamedTuple):
    """Points of accuracy lost, with the 95 % interval; negative where the change gained."""

    points: float
    low: float
    high: float
    lost: int  # pictures right before and wrong after
    won: int  # wrong before and right after
    n: int


def loss(before: Flags, after: Flags) -> Loss:
    """Of pictures: whether each was right before, and whether it is after."""
    n = len(before)
    lost, won = int(np.sum(before & ~after)), int(np.sum(~before & after))
    points = 100 * (lost - won) / n
    low, high = (100 * limit(lost, won, n, z) for z in (Z95, -Z95))
    return Loss(points, low, high, lost, won, n)


def bound(found: Loss) -> float:
    """The points that are lost at most, on pictures nobody has seen, at 95 %."""
    return 100 * limit(found.lost, found.won, found.n, -ONE_SIDED)


def pictures_needed(points: float, disagreeing: float = 0.0) -> int:
    """Pictures without which a loss of at most so many points cannot be promised.

    The networks disagree on a share of them, as often for better as for worse; a share of 0 gives
    the least that could do.
    """
    most = points / 100
    if not 0 < most < 1:
        raise ValueError(f"a loss of {points:g} points: between 0 and 100 can be promised")
    least = ONE_SIDED**2 * (1 - most) / most
    return math.ceil(max(least, ONE_SIDED**2 * disagreeing / most**2))


def fastest_safe(losses: Sequence[Loss], points: float) -> int:
    """How many of these, ordered from the safest to the boldest, keep the promise.

    Each is tested only if all before it passed, so that the chance of any wrong promise is that
    of one test; to choose the fastest of many that each passed would be wrong more often.
    """
    for place, found in enumerate(losses):
        if bound(found) > points:
            return place
    return len(losses)


def limit(lost: int, won: int, n: int, z: float) -> float:
    """A limit of the difference of two shares of the same pictures (Tango's score interval, 1998).

    A positive z gives the lower limit, a negative one the upper.
    """
    low, high = -1.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _score(lost, won, n, middle) > z:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _score(lost: int, won: int, n: int, difference: float) -> float:
    """How far the counts are from a difference, in its standard errors; it falls with it."""
    b = (2 * n - lost + won) * difference - lost - won
    c = -won * difference * (1 - difference)
    gained = max(0.0, (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n))
    variance = n * (2 * gained + difference * (1 - difference))
    off = lost - won - n * difference
    if variance <= 0:
        return math.copysign(math.inf, off) if off else 0.0
    return off / math.sqrt(variance)
