"""What one may quote from a result."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.core.findings import SummarizedResult
from assay.core.records import Case, Procedure, Result, Samples
from assay.stats.summary import summarize

CASE = Case(workload="fake", backend="fake", key="fake@fake")
ANY = st.floats(allow_nan=True, allow_infinity=True)


def steady(values, process=0, metric="step_time", phase="steady"):
    return Samples(
        metric=metric,
        unit="s",
        phase=phase,
        values=tuple(float(value) for value in values),
        starts=(0.0,) * len(values),
        process=process,
    )


def result(*samples, seconds=100.0, items=32, **procedure):
    return Result(
        id="run/001",
        case=CASE,
        procedure=Procedure(**procedure),
        status="ok",
        samples=samples,
        items=items,
        seconds=seconds,
    )


def noisy(middle=0.01, spread=0.01, count=200, seed=0):
    return middle * (1 + spread * np.random.default_rng(seed).standard_normal(count))


def test_step_time_is_the_median_with_its_interval():
    step = summarize(result(steady(noisy()))).quantities["step_time"]
    assert step.low < step.value < step.high
    assert step.value == pytest.approx(0.01, rel=0.005)
    assert (step.unit, step.n) == ("s", 200)


def test_one_process_is_named_in_the_estimator():
    step = summarize(result(steady(noisy()))).quantities["step_time"]
    assert step.estimator == "median of one process"


def test_interval_over_processes_is_as_wide_as_they_differ():
    parts = [steady(noisy(0.01 + 0.0005 * at, seed=at), process=at) for at in range(5)]
    step = summarize(result(*parts, processes=5)).quantities["step_time"]
    assert step.estimator == "geometric mean of 5 process medians"
    assert step.low < 0.0105 < 0.0115 < step.high


def test_throughput_is_items_per_step_time():
    found = summarize(result(steady([0.5] * 30))).quantities
    assert found["throughput"].value == pytest.approx(64.0)
    assert found["throughput"].unit == "items/s"


def test_beginning_that_differs_is_not_in_the_median():
    values = np.concatenate([noisy(0.02, count=60), noisy(0.01, count=140)])
    step = summarize(result(steady(values))).quantities["step_time"]
    assert step.value == pytest.approx(0.01, rel=0.01)
    assert step.n <= 145


def test_phases_are_told_apart():
    samples = (
        steady([2.0], metric="open_time", phase="open"),
        steady([0.7], phase="first"),
        steady(noisy()),
    )
    found = summarize(result(*samples, seconds=9.0)).quantities
    names = ("open_time", "first_step", "total_time")
    assert [found[name].value for name in names] == pytest.approx([2.0, 0.7, 9.0])


@pytest.mark.parametrize(
    "count, names", [(40, {"p50"}), (64, {"p50", "p90"}), (662, {"p50", "p90", "p99"})]
)
def test_percentiles_are_told_where_there_are_enough_samples(count, names):
    found = summarize(result(steady(noisy(count=count)), latency=True)).quantities
    assert {name for name in found if name in {"p50", "p90", "p99"}} == names


def test_percentiles_are_of_latency_only():
    assert "p50" not in summarize(result(steady(noisy(count=700)))).quantities


def test_least_change_seen_shrinks_with_more_samples():
    few, many = (
        summarize(result(steady(noisy(count=count)))).quantities["minimum_detectable_effect"].value
        for count in (50, 2000)
    )
    assert many < few / 3


def test_change_of_the_least_size_is_seen_in_four_of_five_pairs():
    random = np.random.default_rng(1)
    least = summarize(result(steady(noisy(count=400)))).quantities["minimum_detectable_effect"]
    seen = 0
    for _ in range(300):
        first, second = (
            np.median(1 + 0.01 * random.standard_normal(400)) * factor
            for factor in (1.0, 1 + least.value / 100)
        )
        error = 0.01 * math.sqrt(math.pi / 2 / 400) * math.sqrt(2)
        seen += second - first > 1.96 * error
    assert 0.7 <= seen / 300 <= 0.95


def test_metric_a_session_told_has_a_quantity_of_its_own():
    told = Samples(metric="score", unit="", phase="steady", values=(-1.0, -2.0, -3.0))
    assert summarize(result(told)).quantities["score"].value == -2.0


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, -1.0, 0.0], [1e12]])
def test_no_usable_sample_gives_no_number_and_says_so(values):
    summary = summarize(result(steady(values)))
    assert "step_time" not in summary.quantities
    assert "no-samples" in {doubt.code for doubt in summary.doubts}


def test_constant_samples_have_no_spread():
    found = summarize(result(steady([0.5] * 50))).quantities
    assert found["coefficient_of_variation"].value == 0
    assert found["minimum_detectable_effect"].value > 10  # by the resolution of their timer


@given(st.lists(ANY, max_size=40), st.integers(1, 3))
def test_every_result_has_a_summary(values, count):
    parts = [steady(values, process=process) for process in range(count)]
    summary = summarize(result(*parts, seconds=0.0, latency=True))
    for quantity in summary.quantities.values():
        assert not math.isnan(quantity.value)
        assert quantity.n >= 1


def test_one_sample_has_no_interval_no_spread_and_no_detectable_change():
    found = summarize(result(steady([2.0]))).quantities

    assert found["step_time"].value == 2.0
    assert math.isnan(found["step_time"].low) and math.isnan(found["step_time"].high)
    assert not found.keys() & {"coefficient_of_variation", "minimum_detectable_effect"}


def test_the_fastest_is_that_of_all_usable_values_also_before_the_steady_state():
    values = [0.005] * 20 + [0.01 + 1e-6 * (at % 7) for at in range(200)]

    summary = summarize(result(steady(values)))

    assert summary.skipped[0] >= 20
    assert summary.quantities["min"].value == 0.005


def test_what_a_reading_counts_is_what_its_summary_is_made_of():
    made = result(steady([0.005] * 20 + [0.01 + 1e-6 * (at % 7) for at in range(200)]))
    summary = summarize(made)

    (counted,) = SummarizedResult(result=made, summary=summary).steady_values()

    assert len(counted) == summary.quantities["step_time"].n <= 200
    assert min(counted) == 0.01


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0.07] * 50, 0.065, 0.075),  # printed with two digits
        ([0.015625] * 20 + [0.03125] + [0.015625] * 29, 0.0078125, 0.0234375),  # a clock's step
        ([2.0] * 5, 1.5, 2.5),
    ],
)
def test_equal_values_of_a_coarse_timer_have_an_interval_of_its_resolution(values, low, high):
    step = summarize(result(steady(values))).quantities["step_time"]

    assert (step.low, step.high) == pytest.approx((low, high))


def test_the_resolution_of_a_coarse_clock_is_shared_by_the_steps_of_a_sample():
    part = Samples(
        metric="step_time",
        unit="s",
        phase="steady",
        values=(0.0025,) * 30,
        starts=(0.0,) * 30,
        steps=4,
    )
    coarse = msgspec.structs.replace(result(part), facts={"timer_resolution": 0.01})

    step = summarize(coarse).quantities["step_time"]

    assert (step.low, step.high) == pytest.approx((0.00125, 0.00375))


def test_a_reported_time_is_widened_and_a_loss_is_not():
    time, loss = (
        Samples(metric=name, unit=unit, phase="steady", values=(0.5,) * 4)
        for name, unit in (("epoch", "s"), ("error", ""))
    )

    found = summarize(result(time, loss)).quantities

    assert (found["epoch"].low, found["epoch"].high) == pytest.approx((0.45, 0.55))
    assert found["error"].low == found["error"].high == 0.5
