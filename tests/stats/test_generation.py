"""Text generation: times over tokens or requests, and shares of the machine's peaks."""

from __future__ import annotations

import msgspec
import pytest

from assay.core.records import Samples
from assay.stats import paired_ratio
from assay.stats.generation import quantities
from assay.workloads.transformer_decoder import generation_facts
from tests.stats.test_summary import result

NUMBERS = {"layers": 2, "width": 8, "heads": 2, "vocabulary": 100, "length": 64}


def generated(count: int, **facts: object):
    samples = (
        Samples(metric="time_to_first_token", unit="s", phase="steady", values=(0.02,) * 5),
        Samples(metric="time_per_output_token", unit="s", phase="steady", values=(0.004,) * count),
    )
    made = result(*samples)
    known = generation_facts(4, 10, 20, NUMBERS)
    dtypes = {"compute_dtype": "bfloat16", "parameter_dtype": "float32", "device": "cpu"}
    machine = {"cpu_peak_float32": 1e9, "cpu_peak_copy": 1e8}
    return msgspec.structs.replace(
        made,
        facts={**known, **dtypes, "timed_over": "tokens", **facts},
        environment=msgspec.structs.replace(made.environment, machine=machine),
    )


def test_times_are_medians_and_say_over_what():
    found = quantities(generated(100))

    assert found["time_to_first_token"].value == pytest.approx(0.02)
    assert found["time_to_first_token"].estimator == "median over requests"
    assert found["time_per_output_token"].estimator == "median over tokens"
    assert found["time_per_output_token_p90"].value == pytest.approx(0.004)
    assert "time_per_output_token_p99" not in found  # of 100 values nobody can tell
    assert found["decode_throughput"].value == pytest.approx(4 / 0.004)


def test_shares_are_of_what_the_model_needs():
    found = quantities(generated(10))
    seen = 10 + 20 / 2
    work = 2 * (12 * 64 + 2 * seen * 8) + 8 * 100  # of one token of a row
    weights = 2 * (12 * 64 + 13 * 8) + 8 * 100 + 2 * 8
    moved = 2 * weights + 4 * 2 * (2 * 2 * 8 * seen)  # bytes: the cache of four rows

    assert found["decode_peak_share"].value == pytest.approx(100 * 4 * 2 * work / 0.004 / 1e9)
    assert found["decode_bandwidth_share"].value == pytest.approx(100 * moved / 0.004 / 1e8)
    assert found["cache_memory"].value == 4 * 2 * (2 * 2 * 8 * 30)


def test_without_peaks_there_are_no_shares_and_without_text_there_is_nothing():
    bare = generated(10)
    unknown = msgspec.structs.replace(bare.environment, machine={})

    found = quantities(msgspec.structs.replace(bare, environment=unknown))

    assert not any(name.endswith("share") for name in found)
    assert quantities(result()) == {}


@pytest.mark.parametrize(
    ("metric", "value", "unit"),
    [
        ("time_to_first_token", 0.02, "s"),
        ("time_per_output_token", 0.004, "s"),
        ("token_time", 0.001, "s"),  # of four rows
        ("decode_throughput", 1000.0, "items/s"),
    ],
)
def test_two_are_compared_by_any_of_them(metric, value, unit):
    one = generated(8)
    found = paired_ratio.compare([one], [one], paired_ratio.DecisionRule(metric))

    assert found.middles == pytest.approx((value, value))
    assert (found.unit, found.ratio.value, found.ratio.n) == (unit, 1.0, 1)
