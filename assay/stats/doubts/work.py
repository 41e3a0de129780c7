"""Reasons to doubt what a case computes: two counts that disagree, or more than the machine can."""

from __future__ import annotations

from collections.abc import Callable

from assay.core.findings import Doubt
from assay.core.records import Result
from assay.stats.roofline import position

UNWAITED = 0.3  # share of the steps' time that is left after wait, and no noise any more
APART = 0.1  # share by which two counts of the same work may differ


def counts_disagree(result: Result) -> Doubt | None:
    """The model counted layer by layer, against the framework's counter of what it is given."""
    expected = float(result.facts.get("multiply_adds", 0))
    counted = float(result.facts.get("counted_multiply_adds", 0))
    if not expected or not counted or abs(counted / expected - 1) <= APART:
        return None
    return Doubt(
        code="counts-disagree",
        text=f"the model has {expected:.4g} multiply-adds an item, the framework counts "
        f"{counted:.4g}",
        remedy="Check that the model is the one meant, and that no part of it is left out.",
    )


def above_the_peak(result: Result) -> Doubt | None:
    found = position(result)
    if not found or not found.share or found.share <= 1:
        return None
    return Doubt(
        code="above-peak",
        text=f"this is {found.note}",
        remedy="Run assay doctor on the idle machine; else steps may not be waited for.",
    )


def not_waited_for(result: Result) -> Doubt | None:
    left = float(result.facts.get("unwaited", 0.0))
    if left <= UNWAITED:
        return None
    return Doubt(
        code="not-waited-for",
        text=f"wait returned while the device still worked: {left:.0%} of the time of the steps "
        "was left, so they take longer than this",
        remedy="Fix the wait of the backend, or what the model does beside its framework.",
    )


def assumed(result: Result) -> Doubt | None:
    """What the user's model did not say, and a worker took for granted."""
    text = str(result.facts.get("assumed", ""))
    return Doubt(code="assumed", text=text) if text else None


WORK_DOUBTS: tuple[Callable[[Result], Doubt | None], ...] = (
    not_waited_for,
    counts_disagree,
    above_the_peak,
    assumed,
)
