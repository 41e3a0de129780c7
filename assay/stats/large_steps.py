"""Steps that are large beside all that is left when they are taken away.

Ranks of nine points cannot tell a step of 100 deviations from one of 2. This test looks at sizes,
and at steps of any number together: each has to be LARGE times the mean deviation of the points
from the level of their stretch, and the points must be ordered as exchangeable noise hardly ever
orders them (runs test: Wald and Wolfowitz 1940). Figures: docs/design/changepoints.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from assay.stats.changepoints import SIDE
from assay.stats.intervals import Array

MIN_POINTS = 9  # of 8 points, one order in 28 is as clear
LARGE = 10.0  # mean deviations of the points from their level
ORDER = 0.025  # share of all orders of the points that have so few runs
MAX_STEPS = 6
SMALLEST = 1e-4  # mean deviation that a constant series may have (of logarithms: 0.01 %)
MEAN_TO_DEVIATION = 1.2533  # of normal values
# Series without a change exceed a ratio of LARGE in at most this share, whatever their noise, and
# twice the ratio in at most an eighth of that: simulated by `changepoint_levels.py large`.
P_OF_LARGE, FALL = 0.001, 3
SMALLEST_P = 3e-5  # no more was simulated


def large_steps(values: Array, extra: Array, large: float = LARGE) -> list[int]:
    """First points behind each step, of as many steps as are all large. `extra`: how much more a
    point varies than usual, as a share of the usual variance."""
    places: list[int] = []
    if len(values) < MIN_POINTS:
        return places
    candidates = _candidates(values)
    for count in range(1, len(candidates) + 1):
        edges = _moved(values, [0, *sorted(candidates[:count]), len(values)])
        clear = smallest_ratio(values, extra, edges) >= large
        if clear and _share_of_orders(values, edges) <= ORDER:
            places = edges[1:-1]
    return places


def p_value(ratio: float) -> float:
    """How often a series without a change would show steps as large; 1.0 below LARGE."""
    return max(P_OF_LARGE * (LARGE / ratio) ** FALL, SMALLEST_P) if ratio >= LARGE else 1.0


def smallest_ratio(values: Array, extra: Array, edges: Sequence[int]) -> float:
    """Of the smallest step to the deviation of the points from the level of their stretch."""
    stretches = [slice(*ends) for ends in pairwise(edges)]
    levels = _levels(values, edges)
    rest = sum(
        float(np.abs(values[stretch] - level).sum())
        for stretch, level in zip(stretches, levels, strict=True)
    )
    deviation = MEAN_TO_DEVIATION * rest / max(len(values) - len(levels), 1)
    widths = np.sqrt([1 + float(np.median(extra[stretch])) for stretch in stretches])
    steps = np.abs(np.diff(levels)) / np.maximum(widths[1:], widths[:-1])
    return float(steps.min()) / max(deviation, SMALLEST)


def _candidates(values: Array) -> list[int]:
    """Places between different medians of SIDE points, the largest difference first."""
    medians = np.median(np.lib.stride_tricks.sliding_window_view(values, SIDE), 1)
    differences = np.abs(medians[SIDE:] - medians[:-SIDE])
    places: list[int] = []
    while len(places) < MAX_STEPS and differences.max() > 0:
        first = last = int(differences.argmax())
        while last + 1 < len(differences) and differences[last + 1] == differences[first]:
            last += 1  # one point of three does not move a median
        middle = (first + last) // 2
        places.append(middle + SIDE)
        start = max(0, min(first, middle - SIDE + 1))
        differences[start : max(last + 1, middle + SIDE)] = 0
    return places


def _moved(values: Array, edges: list[int]) -> list[int]:
    """Each step to the place near it that leaves the smallest deviations."""
    for n in range(1, len(edges) - 1):
        start, end = edges[n - 1], edges[n + 1]
        near = range(
            max(edges[n] - SIDE, start + SIDE),
            min(edges[n] + SIDE, end - SIDE) + 1,
        )
        edges[n] = min(near, key=lambda place: _rest(values, start, place, end), default=edges[n])
    return edges


def _rest(values: Array, start: int, place: int, end: int) -> float:
    sides = values[start:place], values[place:end]
    return sum(float(np.abs(side - np.median(side)).sum()) for side in sides)


def _levels(values: Array, edges: Sequence[int]) -> list[float]:
    return [float(np.median(values[a:b])) for a, b in pairwise(edges)]


def _share_of_orders(values: Array, edges: Sequence[int]) -> float:
    """Of the least clear step: orders with as few runs of points above and below its middle."""
    shares = []
    for before, after in pairwise(_levels(values, edges)):
        above = values > (before + after) / 2
        runs = 1 + int((above[1:] != above[:-1]).sum())
        shares.append(share_of_orders(int(above.sum()), int((~above).sum()), runs))
    return max(shares)


def share_of_orders(first: int, second: int, runs: int) -> float:
    """Of `first` points of one kind and `second` of another: orders with at most so many runs."""
    total = 0
    for count in range(2, runs + 1):
        half, odd = divmod(count, 2)
        if odd:
            total += _splits(first, half + 1) * _splits(second, half)
            total += _splits(first, half) * _splits(second, half + 1)
        else:
            total += 2 * _splits(first, half) * _splits(second, half)
    return total / math.comb(first + second, first)


def _splits(points: int, runs: int) -> int:
    """Ways to cut points into so many runs."""
    return math.comb(points - 1, runs - 1)
