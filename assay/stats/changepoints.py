"""Change-point test: likelihood ratio of one step against none over normal scores.

Ranks are converted to normal scores, so the distribution of independent noise (outliers, two modes)
does not matter. Both likelihoods allow autocorrelated noise of unknown strength. Method, sources
and calibration: docs/design/changepoints.md.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from assay.stats.intervals import Array

MIN_POINTS = 10  # points of a series that can be tested
SIDE = 3  # minimum number of points on each side of a shift
LONGEST = 512  # points tested together
PHIS = np.linspace(0.0, 0.8, 9)  # correlation of neighbours
# Penalty of the score per unit of correlation: its distribution hardly depends on the correlation.
PHI_COST = 5.0
TINY = 1e-12


class Fit(NamedTuple):
    """For each interval: best place of a step, its score, and that of a straight line."""

    place: Array  # the first point after the step
    score: Array
    phi: Array  # correlation of neighbours beside the step
    line: Array  # the score of a drift
    profile: Array  # the score of a step at SIDE, SIDE + 1, …


def fit(values: Array, extra: Array | None = None) -> Fit:
    """One row per interval. `extra` is the excess variance of each point, as a share of the
    usual."""
    scores = normal_scores(values)
    rows = _whiten(scores, extra)
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
    """Ranks within each row as quantiles of the normal distribution; equal values share a rank."""
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
    scores = np.empty(values.shape)
    np.put_along_axis(scores, order, _quantiles(count)[first + final], 1)
    return scores


@cache
def _quantiles(count: int) -> Array:
    """Quantiles by twice the rank, so that the mean of two ranks has one too (Blom 1958)."""
    normal = NormalDist()
    shares = (np.arange(2 * count - 1) / 2 + 0.625) / (count + 0.25)
    return np.array([normal.inv_cdf(share) for share in shares.tolist()])


class WhitenedRows(NamedTuple):
    """Whitened scores for each correlation: (intervals, correlations, points)."""

    points: int
    values: Array
    weights: Array  # of each row: one over its variance
    constant: Array  # a whitened level of 1
    total_constant: Array
    total_cross: Array
    residual: Array  # without a step: (intervals, correlations)
    jacobian: Array


def _whiten(scores: Array, extra: Array | None) -> WhitenedRows:
    """Remove autoregression; the first point does not change (Prais and Winsten 1954)."""
    phis = PHIS[None, :, None]
    values = np.repeat(scores[:, None, :], len(PHIS), 1)
    values[:, :, 1:] -= phis * scores[:, None, :-1]
    constant = np.repeat(1 - phis, scores.shape[1], 2)
    constant[:, :, 0] = 1.0
    variance = np.repeat(1 - phis**2, scores.shape[1], 2)
    variance[:, :, 0] = 1.0
    if extra is not None and extra.any():  # else all rows share one row of weights
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
    """Reduction of the residual by a step at each place: (intervals, correlations, places)."""
    square, with_level, with_values = step_sums(rows)
    total, cross = rows.total_constant[:, :, None], rows.total_cross[:, :, None]
    gain: Array = (with_values - with_level * cross / total) ** 2 / (square - with_level**2 / total)
    return gain


def step_sums(rows: WhitenedRows) -> tuple[Array, Array, Array]:
    """For a step at each place: its square, its product with the level, and with the values."""
    low, high = SIDE, rows.points - SIDE + 1
    share = rows.constant[:, :, 1:2]  # a whitened level of 1 after the first point of a step
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
    """Excess variance of each point over a usual one, by its own 95 % interval.

    A result with a wide interval relative to the scatter of the series has less weight; a narrow
    interval does not increase the weight.
    """
    own = np.nan_to_num((highs - lows) / 3.92) ** 2
    steps = np.abs(np.diff(values))
    scatter = (1.4826 * float(np.median(steps)) / math.sqrt(2)) ** 2 if len(steps) else 0.0
    usual = max(scatter, float(np.median(own)), TINY)
    return np.maximum(own / usual - 1, 0.0)


# p-values of the scores of a shift or a drift, from simulated series without either.
#
# Written by `benchmarks/changepoint_levels.py step`: for each length the highest quantile over
# series of independent noise and of noise with autocorrelation 0.3, 0.5 and 0.7.

P_VALUES = (0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5)
LENGTHS = (10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512)
STEP = (
    (8.4, 9.47, 10.29, 10.88, 11.16, 11.52, 11.64, 11.66),
    (8.83, 10.23, 11.15, 11.91, 12.56, 13.03, 13.29, 13.55),
    (9.25, 11.2, 12.49, 13.58, 14.51, 15.27, 16.02, 16.78),
    (9.19, 11.95, 13.91, 15.69, 17.05, 18.17, 19.23, 20.52),
    (8.79, 11.78, 14.2, 16.55, 18.32, 19.89, 20.92, 22.39),
    (8.35, 11.34, 13.87, 16.55, 18.94, 21.5, 24.32, 27.49),
    (8.05, 11.01, 13.53, 16.23, 18.69, 21.52, 25.06, 27.81),
    (7.85, 10.73, 13.17, 15.67, 17.94, 21.22, 23.76, 25.63),
    (7.77, 10.59, 13.03, 15.75, 18.02, 20.38, 23.49, 25.38),
    (7.9, 10.4, 12.78, 15.34, 17.61, 21.19, 23.25, 25.48),
    (8.11, 10.65, 12.94, 15.43, 17.73, 20.23, 22.22, 25.35),
    (8.61, 11.15, 13.39, 15.79, 17.99, 19.94, 22.88, 25.48),
)
LINE = (
    (7.11, 10.7, 13.55, 16.3, 19.91, 22.92, 30.46, 30.46),
    (6.72, 10.38, 13.08, 15.73, 18.11, 21.2, 23.92, 26.69),
    (5.86, 9.76, 12.71, 15.31, 17.41, 19.79, 22.04, 23.79),
    (4.13, 8.24, 11.54, 14.72, 17.42, 19.39, 21.32, 22.97),
    (3, 6.61, 10.17, 13.87, 16.62, 19.86, 22.12, 23.32),
    (2.53, 5.05, 8.02, 11.21, 14.36, 18.04, 21.03, 23.33),
    (2.53, 4.46, 6.91, 9.88, 12.47, 15.64, 18.25, 21.76),
    (2.53, 4.51, 6.3, 8.61, 11.14, 13.63, 16.05, 20.79),
    (2.52, 4.45, 6.32, 8.19, 10.41, 13.08, 15.47, 18.76),
    (2.55, 4.52, 6.4, 8.55, 10.68, 12.82, 16.14, 18.23),
    (2.57, 4.55, 6.51, 8.71, 10.68, 12.32, 15.03, 18.58),
    (2.65, 4.57, 6.44, 8.52, 10.17, 11.92, 13.84, 14.26),
)
BOUNDED = 24  # points; with fewer, p-values are not extrapolated beyond the last quantile


def step_p_value(scores: Array, length: int) -> Array:
    return _p_value(STEP, scores, length)


def line_p_value(scores: Array, length: int) -> Array:
    return _p_value(LINE, scores, length)


def _p_value(table: Any, scores: Array, length: int) -> Array:
    """Log-linear interpolation between the simulated quantiles, and extrapolation beyond."""
    places, logs = np.log(LENGTHS), np.log(P_VALUES)
    columns = np.array(table).T
    edges = np.array([np.interp(np.log(length), places, column) for column in columns])
    log_p = np.interp(scores, edges, logs)
    slope = (logs[-1] - logs[2]) / max(edges[-1] - edges[2], 1e-9)
    beyond = logs[-1] + slope * (scores - edges[-1])
    if length >= BOUNDED:
        log_p = np.where(scores > edges[-1], beyond, log_p)
    return np.where(scores < edges[0], 1.0, np.exp(log_p))
