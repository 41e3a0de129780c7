from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.logs import compute as module
from assay.logs.compute import METHODS, NotComputableError, compute
from assay.logs.values import Values


def values_of(numbers, limit=4):
    values = Values(limit)
    for start in range(0, len(numbers), 3):
        values.extend(numbers[start : start + 3])
    return values


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("average", 3.75),
        ("total", 15.0),
        ("last", 2.0),
        ("first", 1.0),
        ("min", 1.0),
        ("max", 8.0),
        ("median", 3.0),
        ("p50", 3.0),
        ("p90", 6.8),
        ("p95", 7.4),
        ("p99", 7.88),
        ("std", math.sqrt((2.75**2 + 4.25**2 + 0.25**2 + 1.75**2) / 3)),
        ("count", 4.0),
    ],
)
def test_each_method_gives_what_its_name_says(method, value):
    assert compute(method, values_of([1.0, 8.0, 4.0, 2.0])) == pytest.approx(value)


def test_every_method_is_named_in_these_tests():
    assert len(METHODS) == 14


def test_workers_share_out_a_total_and_multiply_an_average():
    values = values_of([10.0, 20.0])
    assert compute("total", values, workers=4) == 7.5
    assert compute("average_aggregate", values, workers=4) == 60.0


def test_an_aggregate_without_workers_says_what_is_missing():
    with pytest.raises(NotComputableError, match="DEEPLEARNING_WORKERS_COUNT"):
        compute("average_aggregate", values_of([1.0]))


def test_the_first_values_can_be_skipped_even_after_they_moved_to_a_file():
    values = values_of([float(n) for n in range(20)])
    assert compute("first", values, skip=7) == 7.0
    assert compute("count", values, skip=19) == 1.0
    with pytest.raises(NotComputableError, match="all 20 values are among the 20 skipped"):
        compute("last", values, skip=20)


def test_a_deviation_needs_two_values():
    with pytest.raises(NotComputableError, match="2 values or more"):
        compute("std", values_of([1.0]))


@pytest.mark.parametrize("method", ["average", "total", "min", "max", "median", "p99", "std"])
def test_nan_among_the_values_is_not_hidden(method):
    assert math.isnan(compute(method, values_of([1.0, math.nan, 2.0])))


def test_infinities_keep_their_place_in_the_order():
    values = values_of([math.inf, -math.inf, 3.0])
    assert compute("median", values) == 3.0
    assert compute("max", values) == math.inf
    assert math.isnan(compute("average", values))


@given(
    st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=60),
    st.sampled_from([("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99)]),
    st.sampled_from([1, 5, 1000]),
)
def test_percentiles_are_those_of_numpy_however_little_is_sorted_at_once(numbers, named, collected):
    name, share = named
    usual, module.MAX_SORTED = module.MAX_SORTED, collected
    try:
        found = compute(name, values_of(numbers))
    finally:
        module.MAX_SORTED = usual
    assert found == pytest.approx(numpy.percentile(numbers, share), rel=1e-12, abs=1e-12)
