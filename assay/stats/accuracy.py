"""Counts of right predictions → accuracies with intervals, held against what was expected."""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay.core.findings import Check, Quantity
from assay.core.records import Result

Z = 1.959964  # normal quantile of 97.5 %
COUNTS = ("evaluated", "correct", "top5_correct")  # raw metrics of an evaluation, batch by batch
KNOWN_ON = 5000  # test pictures that an expected accuracy was found on


def quantities(result: Result) -> dict[str, Quantity]:
    """`accuracy`, and `top5_accuracy` where it was counted, in percent."""
    count = _total(result, "evaluated")
    found = {}
    for name, metric in (("accuracy", "correct"), ("top5_accuracy", "top5_correct")):
        if count and result.values(metric):
            found[name] = _percent(_total(result, metric), count)
    return found


def checks(result: Result, found: Mapping[str, Quantity]) -> tuple[Check, ...]:
    """What a run expected of its accuracy, if it did and there is one.

    Nothing is expected of a training that was asked to be less than its recipe.

    A floor was found on the whole test split. Of other examples the interval is held against it:
    chance alone must not fail a model.
    """
    accuracy, expected = found.get("accuracy"), float(result.facts.get("expected_accuracy", 0.0))
    if accuracy is None or not expected or "cut_short" in result.facts:
        return ()
    tolerance = float(result.facts.get("tolerance", 0.0))
    exact = result.facts.get("expectation") == "within"
    same = result.facts.get("split") == "test" and accuracy.n == KNOWN_ON
    best = accuracy.value if exact or same else accuracy.high
    off = abs(best - expected) if exact else expected - best
    return (
        Check(
            metric="accuracy",
            rule="within" if exact else "at least",
            expected=expected,
            tolerance=tolerance,
            # a count is whole, but its percentage and the tolerance are rounded
            verdict="pass" if off <= tolerance + 1e-9 else "fail",
            by="value" if exact or same else "interval",
        ),
    )


def _total(result: Result, metric: str) -> int:
    """Of a damaged result, without what is no count."""
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
    """The 95 % score interval of a share (Wilson, 1927), which has a width at 0 and 1 too."""
    share = correct / count
    middle = share + Z**2 / (2 * count)
    reach = Z * math.sqrt(share * (1 - share) / count + (Z / (2 * count)) ** 2)
    whole = 1 + Z**2 / count
    return max(0.0, (middle - reach) / whole), min(1.0, (middle + reach) / whole)
