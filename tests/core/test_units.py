"""Human units are read and written at the edge."""

from __future__ import annotations

import math
import re

import pytest

from assay.core import units
from assay.core.errors import UsageError


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


@pytest.mark.parametrize(("given", "seconds"), [("2m", 120), (3, 3), (0.5, 0.5), ("1.5", 1.5)])
def test_a_duration_is_a_number_or_a_text(given, seconds):
    assert units.as_seconds(given, "budget", "10s") == seconds


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (0, "budget is 0, but has to be more than 0 s"),
        ("-1", "budget is -1"),
        (math.nan, "budget is nan"),
        (math.inf, "budget is inf"),
        ("soon", "'soon' is not a duration"),
        (None, "budget is None, which is no number"),
        (True, "budget is True, which is no number"),
        ([1], "which is no number and no text"),
    ],
)
def test_a_budget_is_more_than_nothing(given, complaint):
    with pytest.raises(UsageError, match=re.escape(complaint)) as caught:
        units.as_seconds(given, "budget", "10s")
    assert caught.value.hint


def test_a_share_is_between_nothing_and_the_whole():
    assert units.as_share("1%", "target", "1%") == pytest.approx(0.01)
    assert units.as_share(0.5, "target", "1%") == 0.5
    for wrong in (0, 1, "100%", "-1%", math.nan):
        with pytest.raises(UsageError, match="has to be between 0 and 1"):
            units.as_share(wrong, "target", "1%")


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


@pytest.mark.parametrize(
    ("ratio", "signed", "unsigned"),
    [
        (0.952, "−4.80 %", "4.80 %"),
        (1.0031, "+0.31 %", "0.31 %"),
        (1.999, "+99.90 %", "99.90 %"),
        (16.7705, "16.8 times", "16.8 times"),
        (1592.92, "1,600 times", "1,600 times"),
        (0.5, "−50.00 %", "50.00 %"),
        (1 / 16.7705, "1/16.8", "16.8 times"),
        (0.0, "−100.00 %", "100.00 %"),
        (math.inf, "inf times", "inf times"),
    ],
)
def test_a_change_that_is_hard_to_read_in_per_cent_is_a_factor(ratio, signed, unsigned):
    assert units.percent_change(ratio) == signed
    assert units.difference(ratio) == unsigned


def test_an_interval_that_is_not_known_is_not_shown():
    assert units.span(1.0, 2.0, "{:.1f}".format) == "1.0 – 2.0"
    assert units.span(math.nan, 2.0, "{:.1f}".format) == ""
    assert units.span(1.0, math.nan, "{:.1f}".format) == ""


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 points"), (1, "1 point"), (1.0, "1 point"), (0.5, "0.5 points")]
)
def test_one_is_singular(count, text):
    assert units.plural(count, "point") == text
