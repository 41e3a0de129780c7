"""The series of a case over time: its points, shifts and drifts, and what changed there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import msgspec

from assay.core.contracts import Store
from assay.core.errors import AssayError, UsageError, unknown_name_error
from assay.core.findings import ANALYSIS_VERSION
from assay.core.options import Argument, Flag, StoreUrl, accept_old_keywords
from assay.core.records import SCHEMA, Query, Result
from assay.core.registry import open_store
from assay.core.series import Point, StoredSeries
from assay.core.units import as_choice
from assay.stats import stored_summary
from assay.stats.causes import Cause
from assay.stats.trend import Drift, Shift

if TYPE_CHECKING:
    from assay.reporting.python_view import TableList

METRICS = ("step_time", "wall_time", "item_time", "throughput", "accuracy")  # the first there is
COMMANDS = ("@command", "@log")
Order = Literal["time", "commit"]


@accept_old_keywords(home="store")
def history(
    case: Annotated[str, Argument(complete="cases")],
    metric: Annotated[str, Flag("What to follow; default: step_time, or what there is.")] = "",
    machine: Annotated[str, Flag("Only of this host, processor or ASSAY_MACHINE.")] = "",
    order: Annotated[Order, Flag("Order of the points.", flags="--by")] = "time",
    query: Query = Query(),  # noqa: B008 (frozen)
    store: StoreUrl = None,
) -> TableList[SeriesHistory]:
    """Every series of a case: `WORKLOAD@BACKEND`, a whole key, or a workload alone.

    >>> histories = assay.history("mnist-mlp@jax")
    >>> for history in histories:
    ...     print(history.key, [shift.shift.size for shift in history.shifts])
    >>> print(histories, histories.best.key)
    """
    from assay.commands.history.view import table_list

    order = as_choice(order, "order", get_args(Order))
    with closing(open_store(store)) as results:
        asked = _narrow_query(case, machine, query)
        summarize_all(results, asked)
        series = match_series(results.series(asked), case, metric)
        return table_list([read(results, each, order) for each in series])


def summarize_all(store: Store, query: Query) -> None:
    """Results from elsewhere, or of an older analysis, become points; once."""
    for text in store.unsummarized(query, ANALYSIS_VERSION):
        for result in _read_results(store, text):
            stored_summary.read(store, result)


def _read_results(store: Store, *ids: str) -> list[Result]:
    """The results of ids that the index gave; one that is gone meanwhile is named, and passed
    over."""
    results: list[Result] = []
    for text in ids:
        try:
            results += store.results(Query(ids=(text,)))
        except AssayError as error:
            store.problems.append(f"{text} is in the index, but gone: {error}")
    return results


def match_series(stored: Sequence[StoredSeries], case: str, metric: str) -> list[StoredSeries]:
    """The series of a case, each with the metric that was asked for or its usual one."""
    ours = [series for series in stored if not case or _matches_case(series, case)]
    if not ours:
        known = {series.series.key for series in stored}
        hint = "assay list results shows what there is."
        raise (
            unknown_name_error("series", case, known, hint=hint)
            if known
            else UsageError(f"No result of '{case}' is kept that ended well.", hint=hint)
        )
    by_series: dict[str, dict[str, StoredSeries]] = {}
    for series in ours:
        by_series.setdefault(series.series.id, {})[series.metric] = series
    chosen = []
    for of_series in by_series.values():
        name = metric or next((m for m in METRICS if m in of_series), next(iter(of_series)))
        if name in of_series:
            chosen.append(of_series[name])
    if not chosen:
        raise unknown_name_error("metric", metric, {series.metric for series in ours})
    return chosen


def commit_positions() -> dict[str, int]:
    """Commits of the repository one stands in, each after its parents."""
    from assay.measure.git import run_git

    try:
        listed = run_git("rev-list", "--topo-order", "--reverse", "--all")
    except AssayError:
        raise UsageError(
            "Points are ordered by commit in a git repository, and this is none.",
            hint="Go to the repository whose commits were measured, or order by time.",
        ) from None
    return {commit: position for position, commit in enumerate(listed.split())}


def _narrow_query(case: str, machine: str, query: Query) -> Query:
    import msgspec

    workload = case.rpartition("@")[0] or case
    if case.endswith(COMMANDS):  # named by the command, not by the workload
        return msgspec.structs.replace(query, machine=machine or query.machine)
    bare = workload if ".py:" in workload or ":" not in workload else workload.partition(":")[0]
    return msgspec.structs.replace(query, workload=bare, machine=machine or query.machine)


def _matches_case(stored: StoredSeries, case: str) -> bool:
    series = stored.series
    names = {series.key, series.workload, f"{series.workload}@{series.backend}", series.id}
    return case in names


def read(store: Store, stored: StoredSeries, order: Order = "time") -> SeriesHistory:
    """One series of a store that is open."""
    from assay.stats import trend as analysis  # with numpy
    from assay.stats.large_steps import MIN_POINTS

    points = store.points(stored.series.id, stored.metric)
    notes: list[str] = []
    if order == "commit":
        points = _order_by_commit(points, notes)
    if len(points) < MIN_POINTS:
        notes.append(
            f"{len(points)} points are too few to tell shifts from noise: {MIN_POINTS} are needed"
        )
    if _is_older(store, stored, points):
        notes.append(
            "measured before repositories were stored: newer results of this case are in the "
            "series of their repository"
        )
    trend = analysis.history(points)
    return SeriesHistory(
        key=stored.series.key,
        metric=stored.metric,
        unit=stored.unit,
        series=stored.series.id,
        machine=stored.series.machine,
        version=stored.series.version,
        order=order,
        points=tuple(points),
        shifts=tuple(explain_shift(store, shift) for shift in trend.shifts),
        drifts=trend.drifts,
        stable_from=trend.segments[-1][0],
        notes=tuple(notes),
    )


def _is_older(store: Store, stored: StoredSeries, points: Sequence[Point]) -> bool:
    """Whether a user's workload has another series, of a repository, that this one is not part
    of."""
    series = stored.series
    if series.source or not points:
        return False
    others = store.series(Query(workload=series.workload, backend=series.backend))
    if not any(other.series.source for other in others):
        return False
    results = _read_results(store, points[-1].id)
    return bool(results) and results[0].known_source is None


def _order_by_commit(points: Sequence[Point], notes: list[str]) -> list[Point]:
    places = commit_positions()
    known = [point for point in points if point.commit in places]
    if len(known) < len(points):
        notes.append(
            f"{len(points) - len(known)} of {len(points)} are of no commit of this repository"
        )
    return sorted(known, key=lambda point: (places[point.commit], point.started))


def explain_shift(store: Store, shift: Shift) -> ExplainedShift:
    """Only the two results beside the shift are opened."""
    from assay.stats.causes import differences

    results = {r.id: r for r in _read_results(store, shift.before, shift.after)}
    if len(results) < 2:
        return ExplainedShift(shift=shift)
    changed = differences(results[shift.before], results[shift.after])
    return ExplainedShift(shift=shift, changed=tuple(changed))


class ExplainedShift(msgspec.Struct, frozen=True, kw_only=True):
    """A shift, and what else changed between the results on its two sides."""

    shift: Shift
    changed: tuple[Cause, ...] = ()


class SeriesHistory(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one series over time."""

    key: str
    metric: str
    unit: str
    series: str  # its id
    machine: str
    version: str
    order: Literal["time", "commit"] = "time"
    points: tuple[Any, ...] = ()  # of core.series.Point
    shifts: tuple[ExplainedShift, ...] = ()
    drifts: tuple[Drift, ...] = ()
    stable_from: int = 0  # the first point of the last stretch without a shift
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    kind: Literal["history"] = "history"
