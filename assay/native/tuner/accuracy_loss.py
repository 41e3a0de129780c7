"""Paired accuracy loss of a change on the same images, and its confidence limits.

Only images on which one network is right and the other wrong count, so that the sampling of images
affects both accuracies alike.
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
    lost: int  # images right before and wrong after
    won: int  # wrong before and right after
    n: int


def loss(before: Flags, after: Flags) -> Loss:
    """Loss from flags of correct predictions before and after."""
    n = len(before)
    lost, won = int(np.sum(before & ~after)), int(np.sum(~before & after))
    points = 100 * (lost - won) / n
    low, high = (100 * limit(lost, won, n, z) for z in (Z95, -Z95))
    return Loss(points, low, high, lost, won, n)


def bound(result: Loss) -> float:
    """Upper bound of the points lost on unseen images, at 95 %."""
    return 100 * limit(result.lost, result.won, result.n, -ONE_SIDED)


def required_images(points: float, disagreeing: float = 0.0) -> int:
    """The number of images needed to promise a loss of at most so many points.

    The networks disagree on a share of them, equally often in both directions; a share of 0 gives
    the minimum.
    """
    share = points / 100
    if not 0 < share < 1:
        raise ValueError(f"a loss of {points:g} points: between 0 and 100 can be promised")
    least = ONE_SIDED**2 * (1 - share) / share
    return math.ceil(max(least, ONE_SIDED**2 * disagreeing / share**2))


def fastest_safe(losses: Sequence[Loss], points: float) -> int:
    """How many of these losses, from the safest on, are within `points`.

    Fixed-sequence testing: each is tested only if all before it passed, so that the chance of any
    wrong promise is that of one test.
    """
    for count, result in enumerate(losses):
        if bound(result) > points:
            return count
    return len(losses)


def limit(lost: int, won: int, n: int, z: float) -> float:
    """A limit of the difference of two paired proportions (Tango's score interval, 1998).

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
    """Score statistic of a difference, in standard errors; decreasing."""
    b = (2 * n - lost + won) * difference - lost - won
    c = -won * difference * (1 - difference)
    gained = max(0.0, (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n))
    variance = n * (2 * gained + difference * (1 - difference))
    error = lost - won - n * difference
    if variance <= 0:
        return math.copysign(math.inf, error) if error else 0.0
    return error / math.sqrt(variance)
