from __future__ import annotations

import pytest

from assay.core.errors import UsageError
from assay.logs.patterns import IDIOMS, compile_pattern, expand


@pytest.mark.parametrize("idiom", IDIOMS)
def test_a_group_that_means_a_number_takes_signs_and_exponents(idiom):
    pattern = compile_pattern(f"kl: {idiom}")
    assert pattern.regex.findall("kl: -1.5e-05") == ["-1.5e-05"]


def test_an_escaped_bracket_is_no_group():
    assert expand(r"\(\d+\.\d+)") == r"\(\d+\.\d+)"


@pytest.mark.parametrize(
    ("source", "crossing"),
    [
        (r"loss: {number}", False),
        (r"loss:.*?(\S+)", False),
        (r"loss[^\n]+x", False),
        (r"loss\s+(\d+)", True),
        (r"loss\n(\d+)", True),
        (r"loss[^,]+,", True),
        (r"(?s)a.b", True),
        (r"(?s:a.b)", True),
        (r"a(?=\s)", True),
        (r"[\t-\r]x", True),
        (r"\Wx", True),
        (r"(?:a|b\D)+", True),
    ],
)
def test_a_pattern_crosses_lines_if_some_part_can_match_a_line_end(source, crossing):
    assert compile_pattern(source).crossing is crossing


@pytest.mark.parametrize(
    ("source", "literals"),
    [
        (r"Speed: {number} samples/sec", (" samples/sec", "Speed: ")),
        (r"^loss=(\d+)", ("loss=",)),
        (r"(?:ab)+c?d", ("ab", "d")),
        (r"a|b", ()),
        (r"(?i)loss", ()),
        (r"(?i:lo)ss", ("ss",)),
        (r"x(?!no)y", ("x", "y")),
    ],
)
def test_literals_are_texts_that_every_match_contains(source, literals):
    assert compile_pattern(source).literals == literals


def test_a_wrong_expression_is_named_with_its_place():
    with pytest.raises(UsageError, match=r"'loss \(x' is no regular expression: .* at position 5"):
        compile_pattern("loss (x")


def test_the_ends_of_the_whole_log_are_refused():
    with pytest.raises(UsageError, match="end of the whole log") as caught:
        compile_pattern(r"\Aloss")
    assert caught.value.hint == "Write ^ and $: the ends of a line."


def test_digits_are_ascii_and_other_characters_are_characters():
    assert compile_pattern(r"\d+").regex.findall("٣ 4") == ["4"]
    assert compile_pattern(r"dur.e [µu]s").regex.findall("durée µs")


@pytest.mark.parametrize("idiom", [r"(\d+\.\d+)", r"([0-9]+\.[0-9]+)", r"(\d+\.\d+\d+)"])
def test_a_group_that_asks_for_a_fraction_takes_no_whole_number(idiom):
    found = compile_pattern(f"time: {idiom}").regex.findall

    assert found("Start time: 2018-10-01\ntime: 12.55 s") == ["12.55"]
    assert found("time: 9.53674e-05") == ["9.53674e-05"]
    assert found("time: 1e-05") == ["1e-05"]
    assert found("time: -1,234.55") == ["-1,234.55"]


def test_as_many_digits_are_asked_for_as_were_written():
    assert compile_pattern(r"(\d+\.\d+\d+)").regex.findall("1.5 2.25") == ["2.25"]


def test_an_exponent_that_the_pattern_names_itself_is_left_to_it():
    assert compile_pattern(r"(\d+\.\d+)e-05").regex.findall("1.5e-05") == ["1.5"]


def test_an_escaped_bracket_opens_no_fraction():
    assert expand(r"\(\d+\.\d+\)") == r"\(\d+\.\d+\)"
