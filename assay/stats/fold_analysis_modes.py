"""A series that goes to and fro between two modes → the same without the distance between them.

Some machines have two modes, and which one a result falls into is chance. Ranks see little of a
shift there, for the modes are farther apart than it. How far apart they are is known from the
differences of neighbours, which a shift hardly changes; then each point is put into the mode under
which the series is smoothest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from assay.stats.intervals import Array

CLEAR = 10.0  # log-likelihood by which two modes have to explain differences better than one
APART = 3.5  # deviations of a difference, at least, between modes
OFTEN = (0.28, 0.6)  # share of neighbours in different modes
FEWEST_FOR_MODES = 16  # points
AROUND = 8  # points to each side that tell the level
_MODE_ROUNDS = 30
_ROUNDS_AROUND = 2
_MOST = 5.0  # deviations that a difference counts for: one shift costs no more


class Modes(NamedTuple):
    """How far apart, and the deviation of differences within one."""

    distance: float
    deviation: float


def unfolded(values: Array) -> Array:
    """All points in the lower mode; the values themselves where there are no two modes."""
    found = _modes(np.diff(values)) if len(values) >= FEWEST_FOR_MODES else None
    return values if found is None else values - found.distance * _upper(values, found)


def _modes(steps: Array) -> Modes | None:
    """A mixture of three normals, of which the outer two are as far and as often to either side."""
    spread = float(np.std(steps))
    if spread <= 0:
        return None
    distance, deviation, share = 1.5 * spread, 0.5 * spread, 0.4
    density = np.ones((3, len(steps)))
    for _ in range(_MODE_ROUNDS):
        centres = np.array([0.0, distance, -distance])[:, None]
        weights = np.array([1 - share, share / 2, share / 2])[:, None]
        density = weights * np.exp(-0.5 * ((steps - centres) / deviation) ** 2) / deviation
        density = np.maximum(density, 1e-300)
        parts = density / density.sum(0)
        share = float(parts[1:].sum() / len(steps))
        outer = max(float(parts[1:].sum()), 1e-9)
        distance = abs(float(((parts[1] - parts[2]) * steps).sum())) / outer
        left = (steps - np.array([0.0, distance, -distance])[:, None]) ** 2
        deviation = max(math.sqrt(float((parts * left).sum()) / len(steps)), 1e-6 * spread)
    one = -len(steps) * (math.log(spread) + 0.5)
    gain = float(np.log(density.sum(0)).sum()) - one
    apart = distance > APART * deviation and OFTEN[0] <= share <= OFTEN[1]
    return Modes(distance, deviation) if apart and gain > CLEAR else None


def _upper(values: Array, found: Modes) -> Array:
    """1 for each point of the upper mode: first the smoothest way, then the nearer mode to the
    level around, for values in the middle of both can lead a smooth way astray for a while."""
    labels = _smoothest(values, found, 0.5)
    labels = _smoothest(values, found, float(np.clip(labels.mean(), 0.05, 0.95)))
    for _ in range(_ROUNDS_AROUND):
        ends = np.pad(values - found.distance * labels, AROUND, mode="symmetric")
        level = np.median(np.lib.stride_tricks.sliding_window_view(ends, 2 * AROUND + 1), 1)
        labels = (values - level > found.distance / 2).astype(np.float64)
    return labels


def _smoothest(values: Array, found: Modes, share: float) -> Array:
    """The way with the least differences (Viterbi 1967), with `share` of the points above."""
    moved = values[:, None] - found.distance * np.arange(2)  # (points, modes)
    steps = np.abs(moved[1:, None, :] - moved[:-1, :, None]) / found.deviation  # from, to
    costs = np.minimum(steps, _MOST) ** 2 - 2 * np.log([1 - share, share])
    total: Array = np.zeros(2)
    backs: list[Any] = []
    for cost in costs:
        ways = total[:, None] + cost
        backs.append(ways.argmin(0))
        total = ways.min(0)
    labels = [int(total.argmin())]
    for back in reversed(backs):
        labels.append(int(back[labels[-1]]))
    return np.array(labels[::-1], dtype=np.float64)
