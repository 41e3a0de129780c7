"""Doubts about what a case computes: counts that disagree, or a rate above the peak."""

from __future__ import annotations

from collections.abc import Callable

from assay.core.findings import Doubt
from assay.core.records import Result
from assay.stats.roofline import position

MAX_UNSYNCHRONIZED = 0.3  # share of the steps' time left after wait, above noise
MAX_COUNT_DIFFERENCE = 0.1  # relative difference of two counts


def counts_disagree(result: Result) -> Doubt | None:
    """The count by layers against the framework's counter."""
    expected = float(result.facts.get("multiply_adds", 0))
    counted = float(result.facts.get("counted_multiply_adds", 0))
    if not expected or not counted or abs(counted / expected - 1) <= MAX_COUNT_DIFFERENCE:
        return None
    return Doubt(
        code="counts-disagree",
        text=f"the model has {expected:.4g} multiply-adds per item, the framework counts "
        f"{counted:.4g}",
        remedy="Check that it is the right model and that no part of it is missing.",
    )


def above_peak(result: Result) -> Doubt | None:
    where = position(result)
    if not where or not where.share or where.share <= 1:
        return None
    return Doubt(
        code="above-peak",
        text=f"this is {where.note}",
        remedy="Run assay doctor on the idle machine; else steps may not be waited for.",
    )


def missing_wait(result: Result) -> Doubt | None:
    left = float(result.facts.get("unwaited", 0.0))
    if left <= MAX_UNSYNCHRONIZED:
        return None
    return Doubt(
        code="not-waited-for",
        text=f"wait returned while the device still worked: {left:.0%} of the time of the steps "
        "was left, so they take longer than this",
        remedy="Fix the wait of the backend, or what the model does beside its framework.",
    )


def assumptions(result: Result) -> Doubt | None:
    """Assumptions of a worker about the user's model."""
    text = str(result.facts.get("assumed", ""))
    return Doubt(code="assumed", text=text) if text else None


WORK_DOUBTS: tuple[Callable[[Result], Doubt | None], ...] = (
    missing_wait,
    counts_disagree,
    above_peak,
    assumptions,
)
