from __future__ import annotations

import math
import re

import pytest

from assay.logs.numbers import NUMBER, QUANTITY, number, numbers, scale


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12.0),
        ("-2.5", -2.5),
        ("+.5", 0.5),
        ("1.5e-05", 1.5e-05),
        ("08", 8.0),
        ("1,234.5", 1234.5),
        ("-1,234,567", -1234567.0),
        ("1234,567", 1234.0),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        (" 0.25 ", 0.25),
        ("5.", 5.0),
        ("epoch-3", 3.0),
        ("12.5ms", 0.0125),
        ("45%", 45.0),
        ("3.5x faster", 3.5),
    ],
)
def test_the_one_number_in_a_text_is_found(text, value):
    assert number(text) == pytest.approx(value, rel=1e-15)


def test_nan_is_a_number():
    assert math.isnan(number("NaN"))


@pytest.mark.parametrize("text", ["", "none", "1 of 2", "10:30", "information", "2017-03"])
def test_a_text_with_no_number_or_several_has_none(text):
    assert number(text) is None


def test_a_printed_unit_is_turned_into_the_wanted_one():
    assert number("950 us", "ms") == pytest.approx(0.95)
    assert number("1.25 s", "ms") == pytest.approx(1250)
    assert number("500 MiB", "B") == 500 * 2**20
    assert number("56.2k") == pytest.approx(56200)
    assert number("28ms/step", "s") == pytest.approx(0.028)
    assert number("1.2k", "samples/s") == pytest.approx(1200)
    assert number("1234M", "MiB") == 1234


def test_units_that_do_not_relate_leave_the_number_alone():
    assert scale("C", "ms") == 1.0
    assert scale("", "k") == 1.0
    assert scale("MiB", "s") == 1.0


def test_many_texts_give_their_numbers_in_order_and_the_bad_ones_apart():
    assert numbers(["1", "2.5", "-3e2"]) == ([1.0, 2.5, -300.0], [])
    assert numbers(["1,310.5", "x", "2"]) == ([1310.5, 2.0], ["x"])
    assert numbers([]) == ([], [])


@pytest.mark.parametrize("text", ["-1.5", "1.5e-05", "1,234.5", ".5", "nan", "+inf", "7"])
def test_the_grammar_of_patterns_takes_a_whole_number(text):
    assert re.fullmatch(NUMBER, text)


def test_the_grammar_of_patterns_gives_back_what_the_pattern_needs():
    assert re.fullmatch(rf"({NUMBER}),({NUMBER})", "12,345").groups() == ("12", "345")
    assert re.fullmatch(rf"({NUMBER})\.", "5.").groups() == ("5",)


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("950us", "950us"),
        ("1.2 s,", "1.2 s"),
        ("28ms/step - x", "28ms/step"),
        ("56.20k ", "56.20k"),
        ("45% of", "45%"),
        ("5 k=3", "5"),
        ("5 steps", "5"),
        ("1e3 MiB", "1e3 MiB"),
    ],
)
def test_a_quantity_ends_with_its_unit(text, quantity):
    assert re.match(QUANTITY, text)[0] == quantity
