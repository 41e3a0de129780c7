"""How well does history detect steps in real series?

    python benchmarks/real_series.py doubled [TRIALS]           level x 2, noise of 0.5 %
    python benchmarks/real_series.py located FILE [TRIALS]      steps of 3, 5 and 10 %
    python benchmarks/real_series.py unchanged FILE [TRIALS]    share of series with a shift

FILE is a list of benchmark histories as tests/data/numpy_asv_sample.json.gz: objects with
`date_ms` and `seconds`. Their noise is the residual of log seconds around a running median of 31
points: in order, or shuffled. TRIALS are for each series and size.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.series import Point
from assay.stats import trend

Array = NDArray[np.float64]
NEAR = 2  # points
AROUND = 31  # points of the running median
WINDOW = 100  # points of a series in `located` and `unchanged`
SHAPES = ((6, 3), (6, 6), (8, 8), (10, 10), (15, 15), (20, 5), (40, 5), (10, 10, 10))


class Residuals(NamedTuple):
    """Noise of one benchmark, and the times of its commits."""

    dates: Array  # milliseconds
    noise: Array  # of log seconds


def read_residuals(file: str) -> list[Residuals]:
    with gzip.open(file) as stream:
        histories = json.load(stream)
    return [
        Residuals(np.array(each["date_ms"], dtype=float), residuals(np.log(each["seconds"])))
        for each in histories
    ]


def residuals(values: Array) -> Array:
    ends = np.pad(values, AROUND // 2, mode="symmetric")
    windows = np.lib.stride_tricks.sliding_window_view(ends, AROUND)
    return np.asarray(values - np.median(windows, 1))


def places(logs: Array) -> list[int]:
    """Shifts of a series of positive values."""
    points = [
        Point(f"r/{n:03d}", f"{n:06d}", "", "", value, np.nan, np.nan)
        for n, value in enumerate(np.exp(logs).tolist())
    ]
    return [shift.place for shift in trend.history(points).shifts]


def doubled(trials: int = 200) -> None:
    rng = np.random.default_rng(30)
    for shape in SHAPES:
        first, second = shape[0], shape[0] + shape[1]
        expected = [first] if second == sum(shape) else [first, second]
        hits = 0
        for _ in range(trials):
            logs = 0.005 * rng.standard_normal(sum(shape))
            logs[first:second] += np.log(2)
            hits += are_near(places(logs), expected)
        print("+".join(map(str, shape)), f"{hits / trials:.3f} of {trials}", flush=True)


def are_near(shifts: list[int], expected: list[int]) -> bool:
    return all(any(abs(shift - place) <= NEAR for shift in shifts) for place in expected)


def located(file: str, trials: int = 3) -> None:
    """A step at a random place of a random window; and of the whole series."""
    series = read_residuals(file)
    for whole in (False, True):
        for size in (0.03, 0.05, 0.10):
            rng = np.random.default_rng([31, whole, round(1000 * size)])
            hits = []
            for each in series:
                for _ in range(1 if whole else trials):
                    logs = each.noise.copy() if whole else window(rng, each.noise)
                    place = int(rng.integers(len(logs) // 5, len(logs) * 4 // 5))
                    logs[place:] += rng.choice([-1, 1]) * np.log1p(size)
                    hits.append(are_near(places(logs), [place]))
            name = "whole series" if whole else f"windows of {WINDOW}"
            print(f"{name}, {size:.0%}: {np.mean(hits):.3f} of {len(hits)}", flush=True)


def window(rng: np.random.Generator, noise: Array) -> Array:
    start = int(rng.integers(0, len(noise) - WINDOW + 1))
    return noise[start : start + WINDOW].copy()


def unchanged(file: str, trials: int = 3) -> None:
    rng = np.random.default_rng(32)
    series = read_residuals(file)
    for name, order in (("shuffled", rng.permutation), ("in order", np.asarray)):
        changed = [
            bool(places(window(rng, order(each.noise)))) for each in series for _ in range(trials)
        ]
        print(f"{name}: {np.mean(changed):.4f} of {len(changed)}", flush=True)


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    commands: dict[str, Callable[..., None]] = {
        "doubled": doubled,
        "located": located,
        "unchanged": unchanged,
    }
    commands[what](*(int(word) if word.isdecimal() else word for word in rest))
