from __future__ import annotations

import math

import pytest

from assay.formats.perfzero.entries import BenchmarkEntry, ReportedMetric, failure_reasons


def entry(**fields):
    return (BenchmarkEntry(name="A.b", metrics=(ReportedMetric(name="m", **fields),)),)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"value": 1.0}, ""),
        ({"value": 1.0, "min_value": 1.0, "max_value": 1.0}, ""),
        ({"value": 0.9, "min_value": 1.0}, "m is 0.9, below its minimum of 1"),
        ({"value": 1.1, "max_value": 1.0}, "m is 1.1, above its maximum of 1"),
        ({"value": math.nan, "max_value": 1.0}, "m is not a number"),
        ({"value": math.nan}, "m is not a number"),
        ({"value": 1.0, "min_value": math.nan}, "m is 1, below its minimum of nan"),
        ({"value": math.inf, "max_value": 1.0}, "m is inf, above its maximum of 1"),
    ],
)
def test_bounds_are_inclusive_and_what_is_no_number_fails(fields, reason):
    assert failure_reasons(entry(**fields)) == ([reason] if reason else [])


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        (
            '{"value": 1, "succeeded": false, "description": "too low"}',
            ["x did not succeed: too low"],
        ),
        ('{"value": 1, "succeeded": true}', []),
        ("{not json", []),
        ("just words", []),
        ("[1]", []),
    ],
)
def test_a_text_among_the_extras_may_say_that_it_failed(text, reasons):
    assert failure_reasons((BenchmarkEntry(name="A.b", extras={"x": text}),)) == reasons
