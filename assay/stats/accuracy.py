"""Counts of correct predictions → accuracies with intervals, compared to the expected accuracy."""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.core.findings import Check, Quantity
from assay.core.records import Result

Z = 1.959964  # normal quantile of 97.5 %
COUNTS = ("evaluated", "correct", "top5_correct")  # raw metrics of an evaluation, by batch
REFERENCE_IMAGES = 5000  # test images that expected accuracies refer to


def quantities(result: Result) -> dict[str, Quantity]:
    """`accuracy`, and `top5_accuracy` if it was counted, in percent."""
    count = _total(result, "evaluated")
    accuracies = {}
    for name, metric in (("accuracy", "correct"), ("top5_accuracy", "top5_correct")):
        if count and result.values(metric):
            accuracies[name] = _percent(_total(result, metric), count)
    return accuracies


def checks(result: Result, quantities: Mapping[str, Quantity]) -> tuple[Check, ...]:
    """The check of the accuracy, if a run expects one and has one.

    A training that is shorter than its recipe is not checked. The expected accuracy refers to the
    whole test split. For other examples the upper bound of the interval is compared, so that a
    model does not fail by chance.
    """
    accuracy, expected = (
        quantities.get("accuracy"),
        float(result.facts.get("expected_accuracy", 0.0)),
    )
    if accuracy is None or not expected or "cut_short" in result.facts:
        return ()
    tolerance = float(result.facts.get("tolerance", 0.0))
    exact = result.facts.get("expectation") == "within"
    same = result.facts.get("split") == "test" and accuracy.n == REFERENCE_IMAGES
    best = accuracy.value if exact or same else accuracy.high
    off = abs(best - expected) if exact else expected - best
    return (
        Check(
            metric="accuracy",
            rule="within" if exact else "at least",
            expected=expected,
            tolerance=tolerance,
            # counts are integers, but the percentage and the tolerance are rounded
            verdict="pass" if off <= tolerance + 1e-9 else "fail",
            by="value" if exact or same else "interval",
        ),
    )


def _total(result: Result, metric: str) -> int:
    """Sum without invalid counts of damaged results."""
    return round(sum(value for value in result.values(metric) if 0 <= value < math.inf))


def _percent(correct: int, count: int) -> Quantity:
    low, high = wilson(correct, count)
    return Quantity(
        value=100 * correct / count,
        low=100 * low,
        high=100 * high,
        unit="%",
        estimator="share of right predictions, Wilson's interval",
        n=count,
    )


def wilson(correct: int, count: int) -> tuple[float, float]:
    """The 95 % score interval of a share (Wilson, 1927), not empty at 0 and 1."""
    share = correct / count
    center = share + Z**2 / (2 * count)
    reach = Z * math.sqrt(share * (1 - share) / count + (Z / (2 * count)) ** 2)
    scale = 1 + Z**2 / count
    return max(0.0, (center - reach) / scale), min(1.0, (center + reach) / scale)
