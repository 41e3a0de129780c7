"""A suspicion is measured again: baseline and candidate side by side, where both can be had."""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from assay.commands.ab.api import ab
from assay.commands.check.report import CheckedSeries
from assay.core.contracts import Store
from assay.core.errors import AssayError
from assay.core.progress import ProgressCallback
from assay.core.records import Case, Query, Result
from assay.core.series import commit_of
from assay.core.settings import Home
from assay.measure.baseline import commit_hash_of as known_commit
from assay.measure.plan import make_plan
from assay.measure.recorder import is_trusted, run_cases
from assay.stats import gate
from assay.stats.paired_ratio import Comparison

# What ab compares for a metric: a rate is worse where the step takes longer.
CONFIRM_METRICS = {
    **{name: "step_time" for name in ("step_time", "mean", "throughput", "flop_rate")},
    "min": "min",
    "open_time": "open_time",
    "first_step": "first_step",
}
Confirmer = Callable[[CheckedSeries], CheckedSeries]


def make_confirmer(
    store: Store, budget: float | str, home: Home, progress: ProgressCallback
) -> Confirmer:
    """A function from a suspect to the same with its outcome."""

    def again(series: CheckedSeries) -> CheckedSeries:
        ids = (series.baseline_id, series.candidate_id)
        results = {result.id: result for result in store.results(Query(ids=ids))}
        if set(ids) - results.keys():
            return _mark_undecided(series, "one of the two results cannot be read")
        pair = (results[ids[0]], results[ids[1]])
        try:
            trusted = all(is_trusted(result, store) for result in pair)
            case = msgspec.structs.replace(pair[1].case, key="", trust=trusted or msgspec.UNSET)
            return _compare_commits(series, pair, case, budget, home, progress)
        except AssayError as error:
            return _mark_undecided(series, f"it could not be measured again: {error}")

    return again


def _compare_commits(
    series: CheckedSeries,
    pair: tuple[Result, Result],
    case: Case,
    budget: float | str,
    home: Home,
    progress: ProgressCallback,
) -> CheckedSeries:
    """By the commits of the two where they differ, else by their environments."""
    commits = [commit_of(result) for result in pair]
    pythons = [str(result.environment.python.get("executable", "")) for result in pair]
    ways = {
        "commits": commits if all(map(known_commit, filter(None, commits))) else [],
        "pythons": pythons if all(os.access(python, os.X_OK) for python in pythons) else [],
    }
    for way, (before, after) in ((way, both) for way, both in ways.items() if both):
        if series.metric in CONFIRM_METRICS and before and after and before != after:
            compared = ab(
                case,
                metric=CONFIRM_METRICS[series.metric],
                budget=budget,
                min_effect=min(series.threshold.share, 0.5),
                store=home,
                progress=progress,
                **{way: (before, after)},  # type: ignore[arg-type]
            )
            return _apply_comparison(series, list(compared)[-1])
    return _measure_again(series, case, home, progress)


def _apply_comparison(series: CheckedSeries, last: Comparison) -> CheckedSeries:
    text = f"side by side {100 * (last.ratio.value - 1):+.2f} %, {last.verdict}: {last.ended}"
    if last.failures:
        return _mark_undecided(series, f"{text}; {'; '.join(last.failures)}", last.run)
    if last.verdict == "cannot-tell":
        return _mark_undecided(series, text, last.run)
    outcome = "confirmed" if last.verdict == "slower" else "refuted"
    return msgspec.structs.replace(series, outcome=outcome, confirmation=text, run=last.run)


def _measure_again(
    series: CheckedSeries, case: Case, home: Home, progress: ProgressCallback
) -> CheckedSeries:
    """Same commit and environment: nothing of then can be built again, so the case is measured
    now. As fast as the baseline, it was a bad moment; else the machine itself may be slower."""
    from assay.stats.summary import summarize

    (reading,) = run_cases(make_plan(case), home, progress)
    result = reading.result
    quantity = summarize(result).quantities.get(series.metric)
    if quantity is None:
        return _mark_undecided(series, f"measured again it has no {series.metric}", result.run)
    ratio = quantity.value / series.baseline if series.baseline else 1.0
    text = f"measured again, {100 * (ratio - 1):+.2f} % of the baseline"
    if not gate.is_worse(ratio, series.threshold, series.unit):
        return msgspec.structs.replace(series, outcome="refuted", confirmation=text, run=result.run)
    reason = "its commit and environment are those of the baseline, so it may be the machine"
    return _mark_undecided(series, f"{text}; {reason}", result.run)


def _mark_undecided(series: CheckedSeries, text: str, run: str = "") -> CheckedSeries:
    return msgspec.structs.replace(series, outcome="undecided", confirmation=text, run=run)
