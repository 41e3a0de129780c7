"""Several steps at once: the best partitions of an interval into segments of constant level.

In a bump or a staircase, each step alone could be the drift of correlated noise. Dynamic
programming over sums without the first point of each segment finds the places; each is then moved
to where the likelihood is highest, and that likelihood is the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.stats.changepoints import SIDE, TINY, normal_scores
from assay.stats.intervals import Array

LONGEST = 256  # points: all pairs of places are tried
TESTED = 3  # steps of a partition that is tested for significance
MAX_STEPS = 6  # of one partition
PHIS = np.linspace(0.0, 0.6, 7)  # correlation of neighbours
# Penalty of a score per unit of correlation: its distribution hardly depends on the correlation.
PHI_COST = 10.0
PER_STEP = 12.0  # minimum gain in the score of one more step
_SWEEPS = 2  # of moving each step
LENGTHS = (16, 32, 64, 100, 160, 256)
SHARES = (0.6, 0.3, 0.1)  # of the level for one, two and three steps
RARE, RARER = 0.01, 0.001
# Scores of one, two and three steps that these shares of series without a change exceed.
SCORES = (
    ((12.2, 18.4, 22.9), (15.0, 22.2, 27.2)),
    ((14.2, 21.6, 28.6), (19.8, 26.3, 33.9)),
    ((12.8, 21.5, 30.0), (17.8, 27.8, 36.2)),
    ((12.5, 21.5, 30.4), (18.2, 28.2, 39.1)),
    ((12.9, 20.3, 28.8), (18.0, 26.4, 35.2)),
    ((13.2, 21.4, 30.0), (17.6, 28.1, 37.6)),
)


class Partition(NamedTuple):
    """Index of the first point after each step, and the log-likelihood ratio against no step."""

    places: list[int]
    score: float
    phi: float


class Whitened(NamedTuple):
    """A whitened interval for each correlation."""

    values: Array  # (correlations, points)
    steps: Array  # (correlations, points, places): a step at each place; the level at 0
    jacobian: Array


def fit(values: Array, extra: Array, most: int = TESTED) -> list[Partition]:
    """The best partition with one step, with two, and so on."""
    rows = _whiten(normal_scores(values[None])[0], extra)
    null = float(np.min(_costs(rows, []) - PHI_COST * PHIS))
    partitions = []
    for candidates in _candidates(rows, most):
        costs = np.array([_costs(rows, places)[n] for n, places in enumerate(candidates)])
        at = int(costs.argmin())
        places = _refine(rows, at, candidates[at])
        costs = _costs(rows, places)
        partitions.append(
            Partition(places, null - float(costs.min()), float(PHIS[int(costs.argmin())]))
        )
    return partitions


def line_score(values: Array, extra: Array) -> float:
    """Score of a straight line, comparable to those of steps."""
    rows = _whiten(normal_scores(values[None])[0], extra)
    line = rows.steps.sum(2, keepdims=True) / len(values)  # a small step at each place
    null = float(np.min(_costs(rows, []) - PHI_COST * PHIS))
    return null - float(_costs(rows, [], line).min())


def clear(partitions: Sequence[Partition], length: int, level: float) -> bool:
    """Whether any score is significant at `level`, by series without a change."""
    return any(
        partition.score > threshold(number, length, level * share)
        for number, (partition, share) in enumerate(zip(partitions, SHARES, strict=False))
    )


def threshold(number: int, length: int, level: float) -> float:
    """Score of `number` + 1 steps with p-value `level`, log-linear through the two simulated
    ones."""
    table = np.array(SCORES)[:, :, number]
    rare, rarer = (np.interp(np.log(length), np.log(LENGTHS), column) for column in table.T)
    steps = (np.log(RARE) - np.log(level)) / (np.log(RARE) - np.log(RARER))
    return float(rare + steps * (rarer - rare))


def penalized_score(partition: Partition) -> float:
    """Score minus the gain of as many steps in noise; the highest is selected."""
    return partition.score - len(partition.places) * PER_STEP


def _whiten(scores: Array, extra: Array) -> Whitened:
    """Remove autoregression; the first point does not change (Prais and Winsten 1954)."""
    phis = PHIS[:, None]
    variance = np.repeat(1 - phis**2, len(scores), 1)
    variance[:, 0] = 1.0
    variance += extra
    variance[:, 1:] += phis**2 * extra[:-1]
    values = np.repeat(scores[None], len(PHIS), 0)
    values[:, 1:] -= phis * scores[:-1]
    places = np.arange(len(scores))
    step = (places[:, None] >= places).astype(float)
    steps = np.repeat(step[None], len(PHIS), 0)
    steps[:, 1:] -= phis[:, :, None] * step[:-1]
    scale = np.sqrt(variance)
    return Whitened(values / scale, steps / scale[:, :, None], np.log(variance).sum(1))


def _costs(rows: Whitened, places: Sequence[int], more: Array | None = None) -> Array:
    """Twice the negative log-likelihood with steps at these places, for each correlation."""
    columns = rows.steps[:, :, [0, *places]]
    if more is not None:
        columns = np.concatenate([columns, more], 2)
    basis, _ = np.linalg.qr(columns)
    left = (rows.values**2).sum(1) - (np.einsum("pnk,pn->pk", basis, rows.values) ** 2).sum(1)
    points = rows.values.shape[1]
    costs: Array = points * np.log(np.maximum(left, TINY)) + rows.jacobian + PHI_COST * PHIS
    return costs


def _candidates(rows: Whitened, most: int) -> list[list[list[int]]]:
    """Places for each number of steps and each correlation."""
    cost = _stretches(rows)
    count = cost.shape[2] - 1
    best = cost[:, 0, :]
    backs: list[Any] = []
    candidates: list[list[list[int]]] = []
    here = np.arange(len(PHIS))
    for _ in range(min(most, count // SIDE - 1)):
        total = best[:, :, None] + cost
        back = total.argmin(1)
        best = np.take_along_axis(total, back[:, None, :], 1)[:, 0, :]
        backs.append(back)
        end = np.full(len(PHIS), count)
        places: list[Any] = []
        for step in reversed(backs):
            end = step[here, end]
            places.append(end)
        candidates.append(np.stack(places[::-1], 1).tolist())
    return candidates


def _stretches(rows: Whitened) -> Array:
    """Residual sum of squares of one level from `start` to `end`: (correlations, start, end).

    The first point of a later segment depends on the previous level too, so it is left out.
    """
    level = rows.steps[:, :, 0]
    squares, pulls, weights = (
        _sums(part) for part in (rows.values**2, level * rows.values, level**2)
    )
    count = rows.values.shape[1]
    first = np.minimum(np.arange(count + 1) + 1, count)
    first[0] = 0
    total, pull, weight = (
        part[:, None, :] - part[:, first, None] for part in (squares, pulls, weights)
    )
    left: Array = np.maximum(total - pull**2 / np.maximum(weight, TINY), 0.0)
    places = np.arange(count + 1)
    left[:, places - places[:, None] < SIDE] = np.inf
    return left


def _sums(values: Array) -> Array:
    return np.concatenate([np.zeros((len(values), 1)), np.cumsum(values, 1)], 1)


def _refine(rows: Whitened, at: int, places: list[int]) -> list[int]:
    """Move each step to its best fit between its neighbours, the others unchanged."""
    values, steps = rows.values[at], rows.steps[at]
    edges = [0, *places, len(values)]
    for _ in range(_SWEEPS):
        before = list(edges)
        for n in range(1, len(edges) - 1):
            low, high = edges[n - 1] + SIDE, edges[n + 1] - SIDE
            others = edges[:n] + edges[n + 1 : -1]
            basis, _ = np.linalg.qr(steps[:, others])
            tried = steps[:, low : high + 1]
            tried = tried - basis @ (basis.T @ tried)
            gain = (values @ tried) ** 2 / np.maximum((tried**2).sum(0), TINY)
            edges[n] = low + int(gain.argmax())
        if edges == before:
            break
    return edges[1:-1]
