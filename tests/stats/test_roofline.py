"""FLOP/s against measured peaks."""

import msgspec
import pytest

from assay.core.records import Case, Environment, Procedure, Result, Samples
from assay.stats.fast_algorithms import UNKNOWN
from assay.stats.roofline import (
    MARGIN,
    impossible,
    lacks_peak,
    position,
    roofline_position,
)


def result(mode="infer", precision="float32", facts=None, machine=None, values=(0.5, 0.5)):
    return Result(
        id="r/001",
        case=Case(workload="w", backend="b", options={"mode": mode, "precision": precision}),
        procedure=Procedure(),
        status="ok",
        items=10,
        facts=facts if facts is not None else {"multiply_adds": 100},
        samples=(Samples(metric="step_time", unit="s", phase="steady", values=values),),
        environment=Environment(machine=machine or {}),
    )


def test_a_multiply_add_counts_as_two():
    assert position(result()).flops == 2 * 100 * 10 / 0.5


def test_training_does_the_forward_work_three_times():
    assert position(result(mode="train")).flops == 3 * position(result()).flops


def test_the_share_is_of_the_peak_in_the_same_precision():
    machine = {"cpu_peak_float32": 1e9, "cpu_peak_bfloat16": 8000.0}

    found = position(result(precision="pure-bfloat16", machine=machine))

    assert found.share == 0.5
    assert found.note == ""


def test_a_case_on_a_gpu_is_held_against_the_gpu():
    machine = {"cpu_peak_float32": 1.0, "gpu0_peak_float32": 4000.0}
    facts = {"multiply_adds": 100, "device": "cuda:0"}

    assert position(result(facts=facts, machine=machine)).share == 1.0


def test_more_than_the_peak_is_said_and_not_hidden():
    found = position(result(machine={"cpu_peak_float32": 2000.0}))

    assert found.share == 2.0
    assert "Winograd" in found.note


def test_without_a_peak_the_rate_stands_and_the_note_tells_how_to_get_one():
    found = position(result())

    assert found.share is None
    assert "assay doctor" in found.note


@pytest.mark.parametrize("facts, values", [({}, (0.5,)), ({"multiply_adds": 100}, ())])
def test_what_is_not_counted_or_timed_has_no_position(facts, values):
    assert position(result(facts=facts, values=values)) is None


@pytest.mark.parametrize("moved, bound", [(100.0, "compute"), (10_000.0, "memory")])
def test_the_roof_is_the_lower_of_memory_and_compute(moved, bound):
    assert (
        roofline_position(work=1000, seconds=1, moved=moved, peak=50, bandwidth=10).bound == bound
    )


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_time_that_is_none_has_no_position(seconds):
    assert roofline_position(work=1.0, seconds=seconds) is None


def test_work_that_only_the_framework_counted_has_a_position():
    own = position(result(facts={"counted_multiply_adds": 100}))

    assert own.flops == position(result()).flops


# the results below run at 4000 FLOP/s
@pytest.mark.parametrize(
    "executed, peak, refused",
    [
        (100, 5000.0, False),  # below the peak
        (100, 3900.0, False),  # within the margin of a measured peak
        (100, 2000.0, True),  # nothing can be saved
        (20, 1000.0, False),  # Winograd executes a fifth
        (20, 500.0, True),
    ],
)
def test_a_speed_is_impossible_only_beyond_what_algorithms_save(executed, peak, refused):
    facts = {"multiply_adds": 100, "executed_multiply_adds": executed}

    reason = impossible(result(facts=facts), {"cpu_peak_float32": peak})

    assert bool(reason) is refused
    assert reason.startswith("faster than this machine can: 4.00 kFLOP/s" if refused else "")


def test_work_of_unknown_products_may_save_as_much_as_all_algorithms_together():
    assert not impossible(result(), {"cpu_peak_float32": 300.0})
    assert impossible(result(), {"cpu_peak_float32": 100.0})


def test_an_unknown_precision_is_held_against_the_highest_peak():
    machine = {"cpu_peak_float32": 100.0, "cpu_peak_int8": 4000.0, "cpu_peak_copy": 1.0}
    facts = {"multiply_adds": 100, "product_dtypes": "float32"}

    assert not impossible(result(), machine)
    assert impossible(result(facts=facts), machine)


def test_a_training_of_ones_own_may_leave_out_the_backward_pass():
    machine = {"cpu_peak_float32": 12_000.0 / UNKNOWN / MARGIN * 0.9}
    own = result(mode="train", facts={"counted_multiply_adds": 100})

    assert impossible(result(mode="train"), machine)
    assert not impossible(own, machine)


def test_a_peak_measured_beside_other_programs_counts_ten_times():
    busy = msgspec.structs.replace(
        result(facts={"multiply_adds": 100, "executed_multiply_adds": 100}),
        peaks={"machine_busy_cores": 1.5, "mean_cpu_percent": 100.0},
    )

    assert not impossible(busy, {"cpu_peak_float32": 500.0})
    assert impossible(busy, {"cpu_peak_float32": 300.0})


def test_without_a_peak_nothing_is_impossible_and_the_peak_is_missed():
    assert impossible(result(), {}) == ""
    assert lacks_peak(result())
    assert not lacks_peak(result(machine={"cpu_peak_float32": 1.0}))
    assert not lacks_peak(result(facts={}))
