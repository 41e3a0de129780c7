"""Steps that are large beside all noise: found in short series, and in no noise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from assay.stats import large_steps, trend
from tests.stats.test_trend import points


def series(*levels: tuple[int, float], seed: int = 1) -> np.ndarray:
    """Stretches of so many points of a level, with noise of 0.5 %."""
    values = np.concatenate([np.full(count, level) for count, level in levels])
    return values * np.exp(0.005 * np.random.default_rng(seed).standard_normal(len(values)))


def places(values: np.ndarray) -> list[int]:
    return [shift.place for shift in trend.history(points(values)).shifts]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (((6, 1), (3, 2)), [6]),
        (((3, 2), (6, 1)), [3]),
        (((10, 1), (10, 2)), [10]),
        (((40, 1), (5, 2)), [40]),
        (((10, 1), (10, 2), (10, 1)), [10, 20]),
        (((7, 432e-6), (5, 563e-6), (10, 2410e-6)), [7, 12]),
    ],
)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_large_steps_are_shifts_at_their_places(levels, expected, seed):
    assert places(series(*levels, seed=seed)) == pytest.approx(expected, abs=1)


def test_a_large_step_is_as_clear_as_its_interval():
    (shift,) = trend.history(points(series((6, 1), (3, 2)))).shifts

    assert shift.p < 1e-4
    assert 1.9 < shift.low < shift.size < shift.high < 2.1


def test_a_smaller_step_beside_a_large_one_is_a_shift_too():
    values = series((40, 1), (40, 1.05), (20, 3))

    assert places(values) == pytest.approx([40, 80], abs=1)


def test_equal_values_that_change_are_a_shift():
    assert places(np.array([5.0] * 6 + [6.0] * 3)) == [6]


@pytest.mark.parametrize("count", range(1, 9))
def test_up_to_eight_points_have_no_shift(count):
    assert places(np.array([1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0][:count])) == []


def test_two_of_three_newest_points_are_outliers():
    assert places(np.array([1.0, 1.01, 0.99, 1.0, 1.01, 0.99, 1.0, 3.0, 3.0])) == []


def test_results_with_wide_intervals_are_no_large_step():
    values = np.log(series((6, 1), (3, 2)))
    wide = np.array([0.0] * 6 + [1e4] * 3)

    assert large_steps.large_steps(values, np.zeros(9)) == [6]
    assert large_steps.large_steps(values, wide) == []


@pytest.mark.parametrize("noise", ["normal", "t2", "two levels"])
def test_noise_has_no_large_step(noise):
    rng = np.random.default_rng(7)
    shape = (300, 30)
    rows = {
        "normal": rng.standard_normal(shape),
        "t2": rng.standard_t(2, shape),
        "two levels": 30.0 * (rng.random(shape) < 0.3) + rng.standard_normal(shape),
    }[noise]

    steps = [large_steps.large_steps(0.005 * row, np.zeros(30)) for row in rows]

    assert sum(map(bool, steps)) <= 1


@pytest.mark.parametrize(("first", "second", "runs"), [(6, 3, 2), (5, 4, 3), (4, 6, 5)])
def test_orders_are_counted_as_if_all_were_listed(first, second, runs):
    length = first + second
    few = 0
    for chosen in itertools.combinations(range(length), first):
        kinds = [place in chosen for place in range(length)]
        few += 1 + sum(a != b for a, b in itertools.pairwise(kinds)) <= runs

    share = few / math.comb(length, first)

    assert large_steps.share_of_orders(first, second, runs) == pytest.approx(share)
