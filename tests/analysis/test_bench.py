from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from assay.analysis.bench import differences, outliers, over_trials, ratio_interval
from assay.core.records import Case, Procedure, Result, Samples


def results(values, metric="wall_time", unit="s", status="ok"):
    return [
        Result(
            id=f"run/{number:03d}",
            case=Case(workload="a.B.c", backend="bench", key="a.B.c@bench"),
            procedure=Procedure(),
            status=status,
            samples=(Samples(metric=metric, unit=unit, phase="steady", values=(value,)),),
        )
        for number, value in enumerate(values, 1)
    ]


def test_trials_give_median_interval_and_outliers():
    (found,) = over_trials(results([1.0, 1.1, 0.9, 1.05, 9.0]))

    assert (found.key, found.metric) == ("a.B.c@bench", "wall_time")
    assert (found.quantity.value, found.quantity.n, found.quantity.unit) == (1.05, 5, "s")
    assert found.quantity.low < 1.05 < found.quantity.high
    assert found.outliers == (5,)


def test_values_that_are_all_the_same_have_no_outliers():
    assert outliers([1.0, 1.0, 1.0, 1.0]) == ()


def test_trials_that_failed_and_values_that_are_no_numbers_do_not_count():
    mixed = results([1.0, math.nan]) + results([5.0], status="failed")

    (found,) = over_trials(mixed)

    assert (found.quantity.value, found.quantity.n) == (1.0, 1)


@pytest.mark.parametrize(
    ("factor", "unit", "verdict"),
    [(2.0, "s", "slower"), (0.5, "s", "faster"), (2.0, "", "higher"), (0.5, "", "lower")],
)
def test_a_change_that_all_trials_show_is_named(factor, unit, verdict):
    values = [1.0, 1.01, 1.02, 1.03, 1.04]
    (found,) = differences(
        results(values, unit=unit), results([factor * value for value in values], unit=unit)
    )

    assert found.verdict == verdict
    assert found.low <= factor <= found.high


def test_equal_numbers_are_the_same():
    (found,) = differences(results([1.0] * 5), results([1.001] * 5))

    assert found.verdict == "same"


def test_three_trials_are_too_few_to_tell():
    (found,) = differences(results([1.0, 1.0, 1.0]), results([2.0, 2.0, 2.0]))

    assert (found.verdict, found.low, found.high) == ("cannot-tell", 0.0, math.inf)


def test_numbers_that_are_not_positive_have_no_ratio():
    (found,) = differences(results([0.0] * 5), results([1.0] * 5))

    assert found.verdict == "cannot-tell"
    assert math.isnan(found.ratio)


def test_the_interval_is_exact_for_every_order_of_the_values():
    """Under no change all 252 ways to deal ten ranks to two sides are equally likely."""
    ranks = np.arange(1.0, 11.0)
    missed = 0
    for side in itertools.combinations(range(10), 5):
        first = ranks[list(side)]
        second = np.delete(ranks, side)
        _, low, high = ratio_interval(first, second)
        missed += not low <= 1 <= high

    assert 0 < missed / 252 <= 0.05
