"""Did anything get worse: every series together, suspects measured again, alerts sent."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from assay.commands.check import alerts as alerting
from assay.commands.history.api import METRICS, summarize_all
from assay.core import codec
from assay.core.contracts import Store
from assay.core.errors import AssayError, UsageError
from assay.core.findings import Output
from assay.core.options import Flag, Seconds, Share, StoreUrl, accept_old_keywords
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import SCHEMA, Query
from assay.core.registry import open_store
from assay.core.series import Point, StoredSeries
from assay.core.settings import Home
from assay.core.units import as_integer, as_share
from assay.measure.baseline import Baseline, Sides, choose
from assay.reporting.python_view import TableView
from assay.stats.gate import Threshold

if TYPE_CHECKING:
    from assay.stats.gate import Judged


DEFAULT_THRESHOLD = 0.03  # worse by this share fails, where no threshold is given
MAX_POINTS = 512  # newest points of a series that are read


@accept_old_keywords(home="store")
def check(
    since: Annotated[
        str,
        Flag(
            "label:NAME, tag:NAME=VALUE, commit:REF, date:DATE, or one of these bare; "
            "default: the last stretch without a shift.",
            "BASELINE",
        ),
    ] = "",
    fail_on: Annotated[
        Sequence[str],
        Flag(
            "How much worse it may get, as in step_time:3%; with a direction: loss:+1%, rate:-5%. "
            "Repeatable; default: 3% of each series' usual metric.",
            "METRIC:SHARE",
        ),
    ] = (),
    query: Query = Query(),  # noqa: B008 (frozen)
    level: Annotated[Share, Flag("Share of false alarms, over all series together.")] = "1%",
    confirm: Annotated[bool, Flag("Measure suspects again, side by side, before failing.")] = False,
    most: Annotated[int, Flag("Suspects that --confirm measures, the worst first.", min=1)] = 10,
    budget: Annotated[Seconds, Flag("Time to confirm one suspect.")] = "5m",
    alerts: Annotated[
        Sequence[str],
        Flag(
            "Where to tell what was found: https://… (as Slack takes it), "
            "smtp://HOST:PORT?to=a@b.c or cmd:COMMAND. Repeatable.",
            "PLACE",
            flags="--alert",
        ),
    ] = (),
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> CheckReport:
    """Hold the newest points of every series against a baseline: `label:…`, `tag:…`, `commit:…`,
    `date:…`, or without one the last stretch without a shift.

    With `confirm`, at most `most` suspects are measured again, the worst first.

    >>> report = assay.check("main", ["step_time:3%"])
    >>> [series.key for series in report if series.judgement == "regression"]
    >>> print(report)
    """
    from assay.stats.gate import parse_threshold

    thresholds = [parse_threshold(text) for text in fail_on]
    share = as_share(level, "The level", "1%")
    most = as_integer(most, "most", 1)
    alerting.check_places(alerts)
    with closing(open_store(store)) as results:
        summarize_all(results, query)
        baseline = choose(since, results) if since else None
        series = _select_series(results.series(query), thresholds)
        if baseline:
            findings = [_judge_against(results, each, limit, baseline) for each, limit in series]
            findings = _combine(findings, share)
        else:
            findings = _judge_together(results, series, share)
        if confirm:
            findings = _apply_confirmations(
                findings, most, _confirm_worst(results, budget, store, progress)
            )
    text = baseline.text if baseline else "the last stretch without a shift"
    checked = CheckReport(
        found=tuple(findings), level=share, since=text, named=bool(since), confirmed=confirm
    )
    return _send_alerts(checked, alerts)


def status(checked: CheckReport) -> int:
    """Of the command line: 5 got worse, 6 undecided, 0 fine. Undecided is a suspect, until it was
    measured again with an answer, and a check against a named baseline with which nothing at all
    can be compared."""
    outcomes = {series.outcome for series in checked.found}
    if "confirmed" in outcomes:
        return 5
    if "undecided" in outcomes:
        return 6
    judgements = {series.judgement for series in checked.found if not series.outcome}
    if "regression" in judgements:
        return 5
    nothing = checked.named and judgements == {"not-comparable"}
    return 6 if "suspect" in judgements or nothing else 0


def _select_series(
    stored: Sequence[StoredSeries], thresholds: Sequence[Threshold]
) -> list[tuple[StoredSeries, Threshold]]:
    """Every series with each metric that has a threshold; without any, with its usual metric."""
    if not stored:
        raise UsageError(
            "There is nothing to check: no result is kept that ended well.",
            hint="Measure first: assay run mnist-mlp --label nightly",
        )
    own = [series for series in stored if not series.series.how]  # not of comparisons
    if thresholds:
        chosen = [(series, t) for t in thresholds for series in own if series.metric == t.metric]
        if not chosen:
            names = ", ".join(sorted({series.metric for series in own}))
            raise UsageError(
                f"No series has the metric '{thresholds[0].metric}'.", hint=f"They have: {names}."
            )
        return chosen
    usual: dict[str, StoredSeries] = {}
    for series in own:
        best = usual.get(series.series.id)
        if best is None or _rank(series.metric) < _rank(best.metric):
            usual[series.series.id] = series
    return [
        (series, Threshold(metric=series.metric, share=DEFAULT_THRESHOLD))
        for series in usual.values()
    ]


def _rank(metric: str) -> tuple[int, str]:
    return (METRICS.index(metric) if metric in METRICS else len(METRICS), metric)


def _judge_together(
    store: Store, series: Sequence[tuple[StoredSeries, Threshold]], level: float
) -> list[CheckedSeries]:
    """Each series since its last shift, held against the noise of all of its machine."""
    from assay.stats import gate

    tracks = [store.points(stored.series.id, stored.metric, MAX_POINTS) for stored, _ in series]
    watches = [
        gate.Watch(points, threshold, stored.unit, stored.series.machine)
        for points, (stored, threshold) in zip(tracks, series, strict=True)
    ]
    judged = gate.judge(watches)
    counted = sum(each is not None for each in judged)
    findings = []
    for (stored, threshold), points, each in zip(series, tracks, judged, strict=True):
        if each is None:
            findings.append(_series(stored, threshold, f"{_count_points(points)}: cannot tell yet"))
            continue
        stands = gate.stands_for_baseline(each)
        suspect = gate.is_suspect(each, counted)
        findings.append(_make_checked(stored, threshold, each, points, stands, suspect))
    findings = _combine(findings, level)
    return [
        _with_newest(checked, each, gate.is_steady(each, counted, level)) if each else checked
        for checked, each in zip(findings, judged, strict=True)
    ]


def _with_newest(checked: CheckedSeries, judged: Judged, steady: bool) -> CheckedSeries:
    """What the size of the newest step says beside the ranks."""
    if steady:
        return msgspec.structs.replace(checked, judgement="regression", p=judged.steady)
    if checked.judgement == "suspect":
        return msgspec.structs.replace(checked, p=judged.single)
    return checked


def _count_points(points: Sequence[Point]) -> str:
    return f"{len(points)} point{'' if len(points) == 1 else 's'}"


def _judge_against(
    store: Store, series: StoredSeries, threshold: Threshold, baseline: Baseline
) -> CheckedSeries:
    from assay.stats import gate

    points = store.points(series.series.id, series.metric, MAX_POINTS)
    sides = baseline.sides(points)
    if not sides.baseline or not sides.candidate:
        return _series(series, threshold, _skip_reason(store, series, sides, baseline))
    judged = gate.against(*sides)
    both = [*sides.baseline[-gate.WINDOW :], *sides.candidate]
    suspect = judged.single < gate.SUSPICIOUS
    return _make_checked(series, threshold, judged, both, judged.baseline[1] - 1, suspect)


def _make_checked(
    series: StoredSeries,
    threshold: Threshold,
    judged: Judged,
    points: Sequence[Point],
    stands: int,
    suspect: bool,
) -> CheckedSeries:
    """`stands` is the place of the point that is measured again for the baseline."""
    from assay.stats import gate

    worse = gate.is_worse(judged.size, threshold, series.unit)
    better = gate.is_worse(1 / judged.size, threshold, series.unit) if judged.size > 0 else False
    counts = [end - start for start, end in (judged.baseline, judged.candidate)]
    return msgspec.structs.replace(
        _series(series, threshold, f"{counts[1]} points against {counts[0]}"),
        judgement="suspect" if suspect and worse else "fine",
        size=judged.size,
        low=judged.low,
        high=judged.high,
        p=judged.p if worse or better else 1.0,
        baseline=judged.levels[0],
        candidate=judged.levels[1],
        baseline_id=points[stands].id,
        candidate_id=points[judged.candidate[1] - 1].id,
        baseline_points=counts[0],
        candidate_points=counts[1],
    )


def _series(stored: StoredSeries, threshold: Threshold, text: str) -> CheckedSeries:
    return CheckedSeries(
        key=stored.series.key,
        metric=stored.metric,
        unit=stored.unit,
        series=stored.series.id,
        machine=stored.series.machine,
        judgement="not-comparable",
        text=text,
        threshold=threshold,
    )


def _skip_reason(store: Store, series: StoredSeries, sides: Sides, baseline: Baseline) -> str:
    """Which side is empty, and what the nearest series on the other side differs in."""
    if sides.baseline:
        return f"nothing was measured after the baseline ({baseline.text})"
    others = store.series(Query(workload=series.series.workload, backend=series.series.backend))
    for other in others:
        near = other.metric == series.metric and other.series.id != series.series.id
        if near and baseline.sides(store.points(other.series.id, other.metric)).baseline:
            return f"the baseline ({baseline.text}) has another {_differs(series, other)}"
    return f"the baseline ({baseline.text}) has no result of it"


def _differs(series: StoredSeries, other: StoredSeries) -> str:
    """By name: machine, version, parameter or option."""
    mine, theirs = series.series, other.series
    if mine.machine != theirs.machine:
        return f"machine: {theirs.machine}, here {mine.machine}"
    if mine.version != theirs.version:
        return f"version of the workload: {theirs.version}, here {mine.version}"
    for kind, ours, others in (
        ("parameter", mine.params, theirs.params),
        ("option", mine.options, theirs.options),
    ):
        for name in sorted({*ours, *others}):
            if ours.get(name) != others.get(name):
                return f"{kind}: {name}={others.get(name)}, here {ours.get(name)}"
    return "way of measuring"


def _combine(checked: list[CheckedSeries], level: float) -> list[CheckedSeries]:
    """What holds over all series checked together."""
    from assay.stats import gate

    tested = [series for series in checked if series.judgement != "not-comparable"]
    sure = dict(
        zip(map(id, tested), gate.alarming([series.p for series in tested], level), strict=True)
    )
    return [_match_names(series) if sure.get(id(series)) else series for series in checked]


def _match_names(series: CheckedSeries) -> CheckedSeries:
    from assay.stats import gate

    worse = gate.is_worse(series.size, series.threshold, series.unit)
    return msgspec.structs.replace(series, judgement="regression" if worse else "improvement")


def _confirm_worst(
    store: Store, budget: float | str, home: Home, progress: ProgressCallback
) -> Callable[[CheckedSeries], CheckedSeries]:
    from assay.commands.check.confirm import make_confirmer

    return make_confirmer(store, budget, home, progress)


def _apply_confirmations(
    checked: list[CheckedSeries], most: int, again: Callable[[CheckedSeries], CheckedSeries]
) -> list[CheckedSeries]:
    suspects = [series for series in checked if series.judgement in {"regression", "suspect"}]
    worst = sorted(suspects, key=lambda series: abs(series.size - 1), reverse=True)
    outcomes = {id(series): again(series) for series in worst[:most]}
    for series in worst[most:]:
        text = f"not measured again: the {most} worst were"
        outcomes[id(series)] = msgspec.structs.replace(
            series, outcome="undecided", confirmation=text
        )
    return [outcomes.get(id(series), series) for series in checked]


def _send_alerts(checked: CheckReport, places: Sequence[str]) -> CheckReport:
    from assay.commands.check.view import alert_text

    if not places or not status(checked):
        return checked
    sent = alerting.send_all(places, alert_text(checked), codec.encode(checked))
    return msgspec.structs.replace(checked, alerts=tuple(sent))


Judgement = Literal["regression", "improvement", "suspect", "fine", "not-comparable"]
Outcome = Literal["", "confirmed", "refuted", "undecided"]


class CheckedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one series, its newest points held against a baseline."""

    key: str
    metric: str
    unit: str
    series: str
    machine: str
    judgement: Judgement
    text: str  # in words: what was held against what, or why it could not be
    threshold: Threshold
    size: float = math.nan  # candidate over baseline
    low: float = math.nan
    high: float = math.nan
    p: float = 1.0  # of the strict test, which counts over all series
    baseline: float = math.nan
    candidate: float = math.nan
    baseline_id: str = ""  # of each side, the result that is measured again for it
    candidate_id: str = ""
    baseline_points: int = 0
    candidate_points: int = 0
    outcome: Outcome = ""  # of measuring both again
    confirmation: str = ""  # in words
    run: str = ""  # of the measurements that decided


class CheckReport(TableView, msgspec.Struct, frozen=True, kw_only=True):
    """A whole check: every series, and what it means together."""

    found: tuple[CheckedSeries, ...]
    level: float  # share of false alarms among alarms, over all series together
    since: str = ""  # the baseline, in words
    named: bool = False  # whether a baseline was named
    confirmed: bool = False  # whether suspects were measured again
    alerts: tuple[str, ...] = ()  # how each alert fared, in words
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    kind: Literal["check"] = "check"

    def __iter__(self) -> Iterator[CheckedSeries]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def best(self) -> CheckedSeries:
        """The series that improved most."""
        improved = [series for series in self.found if series.judgement == "improvement"]
        if not improved:
            raise AssayError("No series improved.")
        return max(improved, key=lambda series: abs(math.log(series.size)))

    def to_dicts(self) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(series) for series in self.found]

    def _output(self) -> Output:
        from assay.commands.check.view import output

        return output(self)
