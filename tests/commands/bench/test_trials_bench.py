from __future__ import annotations

import math

from assay.commands.bench.trials import find_outliers, summarize_trials
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
    (found,) = summarize_trials(results([1.0, 1.1, 0.9, 1.05, 9.0]))

    assert (found.key, found.metric) == ("a.B.c@bench", "wall_time")
    assert (found.quantity.value, found.quantity.n, found.quantity.unit) == (1.05, 5, "s")
    assert found.quantity.low < 1.05 < found.quantity.high
    assert found.outliers == (5,)


def test_values_that_are_all_the_same_have_no_outliers():
    assert find_outliers([1.0, 1.0, 1.0, 1.0]) == ()


def test_trials_that_failed_and_values_that_are_no_numbers_do_not_count():
    mixed = results([1.0, math.nan]) + results([5.0], status="failed")

    (found,) = summarize_trials(mixed)

    assert (found.quantity.value, found.quantity.n) == (1.0, 1)
