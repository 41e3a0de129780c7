"""Several steps at once: the best partitions of an interval into stretches of one level each.

Of a bump or a staircase, each step alone could pass for the wandering of correlated noise. The
places are found by dynamic programming over sums that leave out the first point of each stretch;
then each is moved to where the likelihood itself is best, and that likelihood is the score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.stats.changepoints import SIDE, TINY, normal_scores
from assay.stats.intervals import Array

LONGEST = 256  # points: all pairs of places are tried
TESTED = 3  # steps at once
MOST = 6  # steps of one partition
PHIS = np.linspace(0.0, 0.6, 7)  # correlation of neighbours
# What a score loses per unit of correlation, so that its law hardly depends on the correlation.
PHI_COST = 10.0
PER_STEP = 12.0  # of the score, that a step more has to add
_SWEEPS = 2  # of moving each step
LENGTHS = (16, 32, 64, 100, 160, 256)
SHARES = (0.6, 0.3, 0.1)  # of the level, for one, two and three steps
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
    """The first points behind each step, and how much likelier than no step at all."""

    places: list[int]
    score: float
    phi: float


class Whitened(NamedTuple):
    """An interval made independent, for each correlation."""

    values: Array  # (correlations, points)
    steps: Array  # (correlations, points, places): a step at each place; at 0, the level
    jacobian: Array


def fit(values: Array, extra: Array, most: int = TESTED) -> list[Partition]:
    """The best partition by one step, by two, and so on."""
    rows = _whitened(normal_scores(values[None])[0], extra)
    null = float(np.min(_costs(rows, []) - PHI_COST * PHIS))
    found = []
    for candidates in _candidates(rows, most):
        costs = np.array([_costs(rows, places)[n] for n, places in enumerate(candidates)])
        at = int(costs.argmin())
        places = _moved(rows, at, candidates[at])
        costs = _costs(rows, places)
        found.append(Partition(places, null - float(costs.min()), float(PHIS[int(costs.argmin())])))
    return found


def line_score(values: Array, extra: Array) -> float:
    """Of a straight line, beside those of steps."""
    rows = _whitened(normal_scores(values[None])[0], extra)
    line = rows.steps.sum(2, keepdims=True) / len(values)  # a small step at every place
    null = float(np.min(_costs(rows, []) - PHI_COST * PHIS))
    return null - float(_costs(rows, [], line).min())


def clear(found: Sequence[Partition], length: int, level: float) -> bool:
    """Whether so high a score of any is rarer than `level` in series without a change."""
    return any(
        one.score > threshold(number, length, level * share)
        for number, (one, share) in enumerate(zip(found, SHARES, strict=False))
    )


def threshold(number: int, length: int, level: float) -> float:
    """The score of `number` + 1 steps that a share of `level` exceeds: on a line of the logarithm
    through the two that were simulated."""
    table = np.array(SCORES)[:, :, number]
    rare, rarer = (np.interp(np.log(length), np.log(LENGTHS), column) for column in table.T)
    steps = (np.log(RARE) - np.log(level)) / (np.log(RARE) - np.log(RARER))
    return float(rare + steps * (rarer - rare))


def penalized(one: Partition) -> float:
    """The score less what so many steps would gain in noise: the highest is chosen."""
    return one.score - len(one.places) * PER_STEP


def _whitened(scores: Array, extra: Array) -> Whitened:
    """An autoregression undone; the first point stays as it is (Prais and Winsten 1954)."""
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
    """For each number of steps, places for each correlation."""
    cost = _stretches(rows)
    count = cost.shape[2] - 1
    best = cost[:, 0, :]
    backs: list[Any] = []
    found: list[list[list[int]]] = []
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
        found.append(np.stack(places[::-1], 1).tolist())
    return found


def _stretches(rows: Whitened) -> Array:
    """What one level leaves of the points from `start` up to `end`: (correlations, start, end).

    The first point of a later stretch depends on the level before too, so it is left out.
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


def _moved(rows: Whitened, at: int, places: list[int]) -> list[int]:
    """Each step to where it fits best between its neighbours, all others as they are."""
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
