"""Two steps at once, as of a bump: each alone could pass for the wandering of correlated noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.analysis.changepoints import (
    PHI_COST,
    PHIS,
    SIDE,
    TINY,
    normal_scores,
    step_sums,
    whitened,
)
from assay.analysis.intervals import Array

LONGEST = 128  # points: all pairs of places are tried
LENGTHS = (16, 24, 32, 48, 64, 96, 128)
# Of series without a change, the scores that a share of 1 % and of 0.1 % exceed.
RARE, RARER = (0.01, 0.001)
SCORES = (
    (18.8, 23.5),
    (21.3, 24.7),
    (22.6, 27.7),
    (22.7, 27.5),
    (22.7, 27.5),  # not simulated: as of 48 points
    (23.6, 28.3),  # between its neighbours
    (24.4, 29.0),  # of 1,500 series each
)


class BumpFit(NamedTuple):
    """For each interval: the first points after two steps, and the score of both together."""

    first: Array
    second: Array
    score: Array


def fit_pair(values: Array, extra: Array | None = None) -> BumpFit:
    """Rows are intervals, as of `changepoints.fit`."""
    rows = whitened(normal_scores(values), extra)
    null = (rows.points * np.log(rows.residual) + rows.jacobian).min(1)
    gain = _gains(*step_sums(rows), rows.total_constant, rows.total_cross)
    left = np.maximum(rows.residual[:, :, None, None] - gain, TINY)
    fixed = rows.jacobian + PHI_COST * PHIS
    costs = (rows.points * np.log(left) + fixed[:, :, None, None]).min(1)
    places = costs.shape[1]
    near = np.subtract.outer(np.arange(places), np.arange(places)) > -SIDE
    costs[:, near] = np.inf
    best = costs.reshape(len(values), -1).argmin(1)
    first, second = np.divmod(best, places)
    score = null - costs.reshape(len(values), -1)[np.arange(len(values)), best]
    return BumpFit(first + SIDE, second + SIDE, score)


def clear(scores: Array, length: int, level: float) -> Array:
    """Which scores are exceeded by less than the share `level` of series without a change."""
    places = np.log(LENGTHS)
    rare, rarer = (np.interp(np.log(length), places, column) for column in np.array(SCORES).T)
    steps = (np.log(RARE) - np.log(level)) / (np.log(RARE) - np.log(RARER))
    found: Array = scores > rare + steps * (rarer - rare)
    return found


def _gains(
    square: Array, with_level: Array, with_values: Array, total: Array, cross: Array
) -> Array:
    """By how much two steps lower the residual: (intervals, correlations, first, second).

    Of two steps, the product of the later one's regressor with the earlier one's is that with the
    level, for the earlier one has become the level by then.
    """
    total, cross = total[:, :, None], cross[:, :, None]
    own = square - with_level**2 / total
    pull = with_values - with_level * cross / total
    both = (1 - with_level / total)[:, :, :, None] * with_level[:, :, None, :]
    first, second = own[:, :, :, None], own[:, :, None, :]
    one, other = pull[:, :, :, None], pull[:, :, None, :]
    spread = np.maximum(first * second - both**2, TINY)
    gain: Array = (one**2 * second - 2 * one * other * both + other**2 * first) / spread
    return gain
