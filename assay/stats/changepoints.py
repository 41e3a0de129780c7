"""Did the level of a series change, and where: a likelihood ratio over normal scores.

Each interval is turned into the normal scores of its ranks, so that outliers, two modes or any
other shape of independent noise look alike; the likelihood of one step is held against that of
none, both with autocorrelated noise of unknown strength. Method, sources and calibration:
docs/design/changepoints.md.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from assay.stats.intervals import Array

FEWEST = 10  # points, to say anything
SIDE = 3  # points, at least, on each side of a shift
LONGEST = 512  # points looked at together
PHIS = np.linspace(0.0, 0.8, 9)  # correlation of neighbours
# What the score loses per unit of correlation, so that its law hardly depends on the correlation.
PHI_COST = 5.0
TINY = 1e-12


class Fit(NamedTuple):
    """For each interval: where a step fits best, its score, and that of a straight line."""

    place: Array  # the first point after the step
    score: Array
    phi: Array  # correlation of neighbours beside the step
    line: Array  # the score of a drift
    profile: Array  # the score of a step at SIDE, SIDE + 1, …


def fit(values: Array, extra: Array | None = None) -> Fit:
    """WhitenedRows are intervals. `extra`: how much more a point varies than usual, as a share."""
    scores = normal_scores(values)
    rows = whitened(scores, extra)
    null = (rows.points * np.log(rows.residual) + rows.jacobian).min(1)
    step = _step_gain(rows)
    left = np.maximum(rows.residual[:, :, None] - step, TINY)
    costs = rows.points * np.log(left) + rows.jacobian[:, :, None] + PHI_COST * PHIS[:, None]
    best = costs.min(1)
    at = best.argmin(1)
    here = np.arange(len(values))
    profile = null[:, None] - best
    bent = np.maximum(rows.residual - _line_gain(rows), TINY)
    lines = rows.points * np.log(bent) + rows.jacobian + PHI_COST * PHIS
    return Fit(
        place=at + SIDE,
        score=profile[here, at],
        phi=PHIS[costs[here, :, at].argmin(1)],
        line=null - lines.min(1),
        profile=profile,
    )


def normal_scores(values: Array) -> Array:
    """Ranks within each row as quantiles of the normal distribution; equal values get one rank."""
    count = values.shape[1]
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, 1)
    places = np.arange(count)
    fresh = np.ones(values.shape, dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    last = np.ones(values.shape, dtype=bool)
    last[:, :-1] = fresh[:, 1:]
    first = np.maximum.accumulate(np.where(fresh, places, 0), axis=1)
    final = np.minimum.accumulate(np.where(last, places, count - 1)[:, ::-1], axis=1)[:, ::-1]
    found = np.empty(values.shape)
    np.put_along_axis(found, order, _quantiles(count)[first + final], 1)
    return found


@cache
def _quantiles(count: int) -> Array:
    """By twice the rank, so that a mean of two ranks has one too (Blom 1958)."""
    normal = NormalDist()
    shares = (np.arange(2 * count - 1) / 2 + 0.625) / (count + 0.25)
    return np.array([normal.inv_cdf(share) for share in shares.tolist()])


class WhitenedRows(NamedTuple):
    """Scores made independent, for each correlation: (intervals, correlations, points)."""

    points: int
    values: Array
    weights: Array  # of each row: one over its variance
    constant: Array  # what a level of 1 becomes
    total_constant: Array
    total_cross: Array
    residual: Array  # of no step at all: (intervals, correlations)
    jacobian: Array


def whitened(scores: Array, extra: Array | None) -> WhitenedRows:
    """An autoregression undone; the first point stays as it is (Prais and Winsten 1954)."""
    phis = PHIS[None, :, None]
    values = np.repeat(scores[:, None, :], len(PHIS), 1)
    values[:, :, 1:] -= phis * scores[:, None, :-1]
    constant = np.repeat(1 - phis, scores.shape[1], 2)
    constant[:, :, 0] = 1.0
    variance = np.repeat(1 - phis**2, scores.shape[1], 2)
    variance[:, :, 0] = 1.0
    if extra is not None and extra.any():  # else one row of weights does for all
        variance = variance + extra[:, None, :]
        variance[:, :, 1:] += phis**2 * extra[:, None, :-1]
    weights = 1 / variance
    total = (weights * constant**2).sum(-1)
    cross = (weights * constant * values).sum(-1)
    residual = np.maximum((weights * values**2).sum(-1) - cross**2 / total, TINY)
    jacobian = np.log(variance).sum(-1)
    return WhitenedRows(
        scores.shape[1], values, weights, constant, total, cross, residual, jacobian
    )


def _step_gain(rows: WhitenedRows) -> Array:
    """By how much a step at each place lowers the residual: (intervals, correlations, places)."""
    square, with_level, with_values = step_sums(rows)
    total, cross = rows.total_constant[:, :, None], rows.total_cross[:, :, None]
    gain: Array = (with_values - with_level * cross / total) ** 2 / (square - with_level**2 / total)
    return gain


def step_sums(rows: WhitenedRows) -> tuple[Array, Array, Array]:
    """Of a step at each place: its square, its product with the level, and with the values."""
    low, high = SIDE, rows.points - SIDE + 1
    share = rows.constant[:, :, 1:2]  # what a level of 1 becomes after the first point of a step
    weights, pulled = rows.weights, rows.weights * rows.values
    after = _after(weights)[:, :, low:high]
    pulled_after = _after(pulled)[:, :, low:high]
    here, pulled_here = weights[:, :, low:high], pulled[:, :, low:high]
    return (
        here + share**2 * after,
        share * here + share**2 * after,
        pulled_here + share * pulled_after,
    )


def _after(values: Array) -> Array:
    """Sums of all later values."""
    return np.cumsum(values[:, :, ::-1], -1)[:, :, ::-1] - values


def _line_gain(rows: WhitenedRows) -> Array:
    line = np.linspace(-1, 1, rows.points)
    bent = np.repeat(line[None, None, :], len(PHIS), 1)
    bent[:, :, 1:] -= PHIS[None, :, None] * line[:-1]
    square = (rows.weights * bent**2).sum(-1)
    with_level = (rows.weights * bent * rows.constant).sum(-1)
    with_values = (rows.weights * bent * rows.values).sum(-1)
    lead = (with_values - with_level * rows.total_cross / rows.total_constant) ** 2
    gain: Array = lead / (square - with_level**2 / rows.total_constant)
    return gain


def extra_variance(values: Array, lows: Array, highs: Array) -> Array:
    """How much more than a usual point each one varies, by its own 95 % interval.

    A result whose interval is wide beside the scatter of the series counts for less; one whose
    interval is narrow is no better than the scatter between results.
    """
    own = np.nan_to_num((highs - lows) / 3.92) ** 2
    steps = np.abs(np.diff(values))
    scatter = (1.4826 * float(np.median(steps)) / math.sqrt(2)) ** 2 if len(steps) else 0.0
    usual = max(scatter, float(np.median(own)), TINY)
    return np.maximum(own / usual - 1, 0.0)
