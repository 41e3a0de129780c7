"""Human units are read and written at the edge."""

from __future__ import annotations

import math

import pytest

from assay import units
from assay.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10s", 10), ("500ms", 0.5), ("2m", 120), ("1h30m", 5400), ("1.5", 1.5), ("20us", 2e-5)],
)
def test_durations_are_read(text, seconds):
    assert units.seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "ten", "10 parsecs", "s", "nan", "inf", "1..2s", "5x"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(UsageError, match="is not a duration"):
        units.seconds(text)


@pytest.mark.parametrize(("text", "share"), [("1%", 0.01), ("0.5 %", 0.005), ("0.02", 0.02)])
def test_shares_are_read(text, share):
    assert units.share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "much", "%", "nan%"])
def test_what_is_no_share_is_refused(text):
    with pytest.raises(UsageError, match="is not a share"):
        units.share(text)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.00341, "s", "3.41 ms"),
        (1.0, "s", "1.00 s"),
        (90, "s", "1.50 min"),
        (2.5e-9, "s", "2.50 ns"),
        (0, "s", "0 s"),
        (0.9999, "s", "1.00 s"),
        (1536, "B", "1.50 KiB"),
        (2**30, "B", "1.00 GiB"),
        (4012, "items/s", "4.01 kitems/s"),
        (1e12, "FLOP/s", "1.00 TFLOP/s"),
        (12.34, "%", "12.3 %"),
        (math.nan, "s", "nan"),
        (-0.002, "s", "-2.00 ms"),
    ],
)
def test_numbers_are_written_with_three_digits(value, unit, text):
    assert units.human(value, unit) == text
