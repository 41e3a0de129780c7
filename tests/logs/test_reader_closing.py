from __future__ import annotations

import pytest

from assay.logs.reader import check_closing

SAMPLES = [100.0, 110.0, 105.0, 109.0]


@pytest.mark.parametrize(
    ("printed", "rule"),
    [
        ("106.00", "mean"),
        ("106", "mean"),
        ("107", "median"),
        ("105.859", "harmonic mean"),
        ("108.0", "mean without the first"),
        ("79.5", "sum of all but one over the count of all"),
        ("141.33", "sum over one too few"),
        ("200", ""),
    ],
)
def test_a_closing_mean_is_recognised_by_the_rule_it_follows(printed, rule):
    found = check_closing(printed, SAMPLES)
    assert found.rule == rule
    assert found.mean == 106.0
    assert found.agrees == (rule == "mean")


def test_samples_that_do_not_count_may_be_left_out_of_the_mean():
    found = check_closing("107.0", [100.0, 100.0, 105.0, 109.0], skip=2)
    assert found.rule == "mean of the samples that count"
    assert found.agrees


def test_a_mean_can_be_no_more_exact_than_it_is_printed():
    assert check_closing("0.35", [0.352, 0.3512]).agrees
    assert not check_closing("0.3500", [0.352, 0.3512]).agrees


def test_the_sentence_says_what_was_printed_instead():
    text = check_closing("79.5", SAMPLES).text
    assert text == (
        "The program's closing mean is 79.5, but its samples have the mean 106: "
        "what it printed is the sum of all but one over the count of all."
    )
