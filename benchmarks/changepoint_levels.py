"""The tables of the change-point detector: how high do scores get in series without a change?

    python benchmarks/changepoint_levels.py step [SERIES [PROCESSES]]   of stats/changepoints
    python benchmarks/changepoint_levels.py steps [SERIES [PROCESSES]]  of stats/segmentation
    python benchmarks/changepoint_levels.py large [SERIES [PROCESSES]]  of stats/large_steps

`large` prints, for each noise and length, the share of series without a change that have steps of
some ratios and more. For the others:

For each length and each correlation of neighbours so many series are simulated; of their quantiles
the highest over the correlations is told, a line for each length.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from changepoints import NOISES, Array, correlated

from assay.stats import changepoints, segmentation
from assay.stats.changepoints import LENGTHS, P_VALUES
from assay.stats.large_steps import large_steps, smallest_ratio

AT_ONCE = 40_000  # numbers of the series fitted together


class Job(NamedTuple):
    """Some series of one length and correlation."""

    length: int
    phi: float
    rows: int
    seed: int

    def series(self) -> Array:
        rng = np.random.default_rng([self.seed, self.length, round(10 * self.phi)])
        return correlated(rng, self.rows, self.length, self.phi)


def jobs(length: int, phi: float, series: int) -> list[Job]:
    each = min(series, max(1, AT_ONCE // length))
    return [Job(length, phi, each, seed) for seed in range(22, 22 + series // each)]


def step_scores(job: Job) -> Array:
    """Of one step, and of a straight line."""
    found = changepoints.fit(job.series())
    return np.stack([found.score, found.line], 1)


def steps_scores(job: Job) -> Array:
    """Of one, two and three steps at once."""
    nothing = np.zeros(job.length)
    return np.array([[one.score for one in segmentation.fit(row, nothing)] for row in job.series()])


def highest(
    pool: ProcessPoolExecutor,
    scores: Callable[[Job], Array],
    shape: tuple[int, tuple[float, ...], tuple[float, ...]],
    series: int,
) -> Array:
    """(scores, p-values): the highest quantile over the correlations."""
    length, phis, p_values = shape
    found = []
    for phi in phis:
        rows = np.concatenate(list(pool.map(scores, jobs(length, phi, series))))
        found.append(np.quantile(rows, 1 - np.array(p_values), axis=0).T)
    whole: Array = np.max(found, 0)
    return whole


def step(series: int = 100_000, processes: int = 1) -> None:
    with ProcessPoolExecutor(processes) as pool:
        for length in LENGTHS:
            shape = length, (0.0, 0.3, 0.5, 0.7), P_VALUES
            rows = highest(pool, step_scores, shape, series).round(2).tolist()
            for what, row in zip(("step", "line"), rows, strict=True):
                print(length, what, row, flush=True)


def steps(series: int = 20_000, processes: int = 1) -> None:
    with ProcessPoolExecutor(processes) as pool:
        for length in segmentation.LENGTHS:
            shape = length, (0.0, 0.3, 0.5, 0.6), (segmentation.RARE, segmentation.RARER)
            rows = highest(pool, steps_scores, shape, series).T.round(1).tolist()
            print(length, *map(tuple, rows), flush=True)


NOISES_OF_LARGE: dict[str, Callable[[np.random.Generator, int, int], Array]] = {
    **NOISES,
    "AR(1) 0.7": partial(correlated, phi=0.7),
    "t3": lambda rng, count, length: rng.standard_t(3, (count, length)),
    "t2": lambda rng, count, length: rng.standard_t(2, (count, length)),
    "Cauchy": lambda rng, count, length: rng.standard_t(1, (count, length)),
    "70/30, 30 sigma": lambda rng, count, length: (
        30.0 * (rng.random((count, length)) < 0.3) + rng.standard_normal((count, length))
    ),
}
RATIOS = (5, 7, 10, 14, 20, 28)


def large_ratio(values: Array) -> float:
    """Of the smallest of the most steps that large_steps takes, whatever their size."""
    nothing = np.zeros(len(values))
    places = large_steps(0.005 * values, nothing, large=RATIOS[0])
    edges = [0, *places, len(values)]
    return smallest_ratio(0.005 * values, nothing, edges) if places else 0.0


def large(series: int = 10_000, processes: int = 1) -> None:
    print(" " * 24, *(f"{ratio:7}" for ratio in RATIOS))
    with ProcessPoolExecutor(processes) as pool:
        for name, noise in NOISES_OF_LARGE.items():
            for length in (9, 12, 20, 50, 100):
                rng = np.random.default_rng([24, length])
                rows = noise(rng, series, length)
                ratios = np.array(list(pool.map(large_ratio, rows, chunksize=100)))
                shares = [f"{np.mean(ratios >= ratio):7.4f}" for ratio in RATIOS]
                print(f"{name:16} n = {length:3}", *shares, flush=True)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    {"step": step, "steps": steps, "large": large}[what](*map(int, rest))
