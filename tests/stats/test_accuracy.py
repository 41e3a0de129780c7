"""Counts become accuracies with intervals, and are held against what was expected."""

from __future__ import annotations

import pytest

from assay.core.records import Case, Procedure, Result, Samples
from assay.stats.accuracy import wilson
from assay.stats.summary import summarize


def result(correct: tuple[int, ...], evaluated: tuple[int, ...], **facts: object) -> Result:
    counts = {"evaluated": evaluated, "correct": correct}
    return Result(
        id="run/001",
        case=Case(workload="net", backend="torch"),
        procedure=Procedure(),
        status="ok",
        samples=tuple(
            Samples(metric=metric, unit="items", phase="steady", values=tuple(map(float, values)))
            for metric, values in counts.items()
        ),
        facts={"split": "test", **facts},
    )


def test_accuracy_is_the_share_over_all_batches_not_the_mean_of_theirs():
    found = summarize(result((90, 1), (100, 10))).quantities

    assert found["accuracy"].value == pytest.approx(100 * 91 / 110)
    assert (found["accuracy"].unit, found["accuracy"].n) == ("%", 110)
    assert "correct" not in found and "evaluated" not in found


# Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29, by Wilson's method.
@pytest.mark.parametrize(
    "correct, count, low, high",
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_is_that_of_the_published_examples(correct, count, low, high):
    assert wilson(correct, count) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    "correct, verdict", [(4445, "pass"), (4444, "pass"), (4442, "pass"), (4441, "fail")]
)
def test_of_the_whole_test_split_the_value_itself_must_reach_the_floor(correct, verdict):
    """88.88 % was expected, with a tolerance of 0.05 points: 4441.5 images."""
    facts = {"expected_accuracy": 88.88, "tolerance": 0.05, "expectation": "at least"}
    (check,) = summarize(result((correct,), (5000,), **facts)).checks

    assert (check.verdict, check.by) == (verdict, "value")


@pytest.mark.parametrize("correct, verdict", [(85, "pass"), (80, "fail")])
def test_of_fewer_pictures_only_an_interval_below_the_floor_fails(correct, verdict):
    facts = {"expected_accuracy": 90.0, "tolerance": 0.05, "expectation": "at least"}
    (check,) = summarize(result((correct,), (100,), **facts)).checks

    assert (check.verdict, check.by) == (verdict, "interval")


@pytest.mark.parametrize("correct, verdict", [(4424, "pass"), (4430, "fail"), (4420, "fail")])
def test_what_was_asked_for_exactly_may_be_neither_lower_nor_higher(correct, verdict):
    facts = {"expected_accuracy": 88.48, "tolerance": 0.05, "expectation": "within"}
    (check,) = summarize(result((correct,), (5000,), **facts)).checks

    assert (check.verdict, check.rule) == (verdict, "within")


def test_without_an_expectation_there_is_no_verdict():
    assert summarize(result((90,), (100,))).checks == ()
