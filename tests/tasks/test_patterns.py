from __future__ import annotations

import pytest

from assay.errors import UsageError
from assay.tasks.patterns import IDIOMS, compile_pattern, expand


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
