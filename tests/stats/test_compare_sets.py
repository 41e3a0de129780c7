from __future__ import annotations

import itertools
import math

import msgspec
import numpy as np
import pytest

from assay.core.findings import Quantity
from assay.core.records import Case, Procedure, Result, Samples
from assay.stats import compare_sets
from assay.stats.compare_sets import Side, difference, means, ratio_interval, side

CLOSE = [1.0, 1.01, 1.02, 1.03, 1.04]


def found(first, second, unit="s"):
    return difference("a@b", "wall_time", Side(first, 0.0, unit), Side(second, 0.0, unit))


def result(*processes, metric="step_time", unit="s", status="ok"):
    return Result(
        id="run/001",
        case=Case(workload="a", backend="b", key="a@b"),
        procedure=Procedure(),
        status=status,
        samples=tuple(
            Samples(metric=metric, unit=unit, phase="steady", values=values, process=number)
            for number, values in enumerate(processes)
        ),
    )


@pytest.mark.parametrize(
    ("factor", "unit", "verdict"),
    [
        (2.0, "s", "slower"),
        (0.5, "s", "faster"),
        (2.0, "items/s", "faster"),
        (0.5, "items/s", "slower"),
        (2.0, "", "higher"),
        (0.5, "B", "lower"),
    ],
)
def test_a_change_that_all_processes_show_is_named(factor, unit, verdict):
    one = found(CLOSE, [factor * value for value in CLOSE], unit)

    assert one.verdict == verdict
    assert one.low <= factor <= one.high


def test_the_fastest_step_of_each_process_can_be_compared():
    assert side([result((3.0, 2.0, 5.0), (4.0, 9.0, 1.0))], "min").medians == [2.0, 1.0]
    assert side([result((3.0, 2.0))], "min").unit == "s"


def test_equal_numbers_are_the_same():
    assert found([1.0] * 5, [1.001] * 5).verdict == "same"


@pytest.mark.parametrize(("ratio", "verdict"), [(1.2, "cannot-tell"), (1.3, "slower")])
def test_few_processes_only_show_what_is_larger_than_the_noise_between_two(ratio, verdict):
    one = found([1.0, 1.0, 1.0], [ratio] * 3)

    assert one.verdict == verdict
    assert (one.low, one.high) == pytest.approx((ratio / 1.25, ratio * 1.25))


def test_numbers_that_are_not_positive_have_no_ratio():
    one = found([0.0] * 5, [1.0] * 5)

    assert one.verdict == "cannot-tell"
    assert math.isnan(one.ratio)


def test_the_interval_is_exact_for_every_order_of_the_values():
    """Under no change all 252 ways to deal ten ranks to two sides are equally likely."""
    ranks = np.arange(1.0, 11.0)
    missed = 0
    for chosen in itertools.combinations(range(10), 5):
        _, low, high = ratio_interval(ranks[list(chosen)], np.delete(ranks, chosen))
        missed += not low <= 1 <= high

    assert 0 < missed / 252 <= 0.05


def test_many_processes_have_the_interval_of_the_normal_distribution():
    generator = np.random.default_rng(0)
    missed = 0
    for _ in range(400):
        first, second = generator.lognormal(0, 0.05, (2, 30))
        _, low, high = ratio_interval(first, second)
        missed += not low <= 1 <= high

    assert 0.02 < missed / 400 < 0.09


def test_a_process_is_one_value_and_failures_do_not_count():
    both = [result((1.0, 1.0, 1.0), (3.0,) * 3), result((9.0,), status="failed")]

    assert side(both, "step_time").medians == [1.0, 3.0]
    assert side(both, "loss") is None


def test_values_that_are_no_numbers_do_not_count():
    assert side([result((1.0, math.nan), metric="loss", unit="")], "loss").medians == [1.0]


def test_the_main_metric_is_that_of_steps_then_of_the_whole():
    assert compare_sets.main_metric([result((1.0,), metric="loss"), result((1.0,))]) == "step_time"
    assert compare_sets.main_metric([result((1.0,), metric="loss")]) == "loss"
    assert compare_sets.main_metric([result((1.0,), status="failed")]) == ""


def test_the_geometric_mean_has_an_interval_and_groups():
    halves = [found(CLOSE, [value / 2 for value in CLOSE]) for _ in range(2)]
    doubled = [found(CLOSE, [value * 2 for value in CLOSE]) for _ in range(2)]
    grouped = [msgspec.structs.replace(one, group="x") for one in halves]
    grouped += [msgspec.structs.replace(one, group="y") for one in doubled]

    x, y, whole = means(grouped)

    assert [(mean.group, mean.verdict) for mean in (x, y)] == [("x", "faster"), ("y", "slower")]
    assert whole.ratio.value == pytest.approx(1.0)
    assert whole.ratio.low < 1 < whole.ratio.high
    assert math.log(whole.ratio.high) == pytest.approx(math.log(halves[0].high / 0.5) / 2, rel=0.1)


def test_what_is_not_comparable_is_in_no_mean():
    other = msgspec.structs.replace(found(CLOSE, CLOSE), verdict="not-comparable", ratio=9.0)

    assert means([found(CLOSE, CLOSE), other]) == []
    assert isinstance(found(CLOSE, CLOSE).first, Quantity)
