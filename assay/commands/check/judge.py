"""Series of a store held against their baselines: the stretch before, or one that was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from assay.commands.check.marks import (
    JudgedStretch,
    Marks,
    RegressionMark,
    accepted_text,
    is_gone,
    stretch,
)
from assay.commands.check.report import CheckedSeries
from assay.commands.history.api import METRICS
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.records import Query
from assay.core.series import Point, StoredSeries
from assay.measure.baseline import Baseline, Sides
from assay.stats import gate
from assay.stats.gate import Judged, Judgement, Threshold, Watch

DEFAULT_THRESHOLD = 0.03  # worse by this share fails, where no threshold is given
MAX_POINTS = 512  # newest points of a series that are read
Selected = Sequence[tuple[StoredSeries, Threshold]]


def select_series(
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


class Judging(NamedTuple):
    """Series with what was found in each, and the regressions that are gone."""

    series: list[CheckedSeries]
    gone: list[RegressionMark]
    machines: list[str]  # on which most series got worse at once, in words


def judge_newest(store: Store, series: Selected, level: float, marks: Marks) -> Judging:
    """Each series since its last shift, held against the noise of all of its machine; regressions
    that are open stay so."""
    stretches = [stretch(_points(store, stored, marks), marks.of(stored)) for stored, _ in series]
    watches = [
        Watch(each.points, threshold, stored.unit, stored.series.machine)
        for each, (stored, threshold) in zip(stretches, series, strict=True)
    ]
    judged = gate.judge(watches)
    judgements = gate.decide(watches, judged, level)
    checks = []
    for (stored, threshold), part, each, judgement in zip(
        series, stretches, judged, judgements, strict=True
    ):
        checked = _newest(stored, threshold, part, each, judgement)
        checks.append(_keep_open(checked, stored, part))
    gone = [each.open for each in stretches if each.open and is_gone(each)]
    return Judging(checks, gone, [change.text for change in gate.machine_changes(watches)])


def _points(store: Store, stored: StoredSeries, marks: Marks) -> list[Point]:
    """The newest, and all since an open regression."""
    points = store.points(stored.series.id, stored.metric, MAX_POINTS)
    ids = {point.id for point in points}
    unsettled = marks.list_unsettled(stored.series.id, stored.metric)
    if all(mark.first in ids for mark in unsettled):
        return points
    return store.points(stored.series.id, stored.metric)


def _newest(
    stored: StoredSeries,
    threshold: Threshold,
    part: JudgedStretch,
    judged: Judged | None,
    judgement: Judgement,
) -> CheckedSeries:
    if judged is None:
        text = f"{_count_points(part.points)}{accepted_text(part.accepted)}: cannot tell yet"
        return _series(stored, threshold, text)
    stands = gate.stands_for_baseline(judged)
    return _make_checked(stored, threshold, judged, part.points, stands, judgement)


def _keep_open(checked: CheckedSeries, stored: StoredSeries, part: JudgedStretch) -> CheckedSeries:
    """A regression found by an earlier check, until its series is back at the level before."""
    mark = part.open
    if mark is None or is_gone(part):
        return checked
    worse = gate.is_worse(mark.size, checked.threshold, checked.unit)
    start = max(0, part.place - mark.baseline_points)
    if not worse or start == part.place:
        return checked
    known = gate.compare(part.points, start, part.place)
    if not 0 < known.low < known.high < 1e9 or len(part.points) - part.place <= gate.FEW:
        known = known._replace(low=mark.low, high=mark.high)
    p = min(mark.p, checked.p) if checked.judgement == "regression" else mark.p
    known = known._replace(p=p)
    stands = gate.stands_for_baseline(known)
    same = _make_checked(stored, checked.threshold, known, part.points, stands, "regression")
    since = part.points[part.place].started
    return msgspec.structs.replace(
        same,
        text=f"{same.text}; open since {since[:10]}",
        since=since,
        outcome="confirmed" if mark.state == "confirmed" else "",
        confirmation=mark.why if mark.state == "confirmed" else "",
        run=mark.run,
    )


def _count_points(points: Sequence[Point]) -> str:
    return f"{len(points)} point{'' if len(points) == 1 else 's'}"


def judge_against(
    store: Store, series: Selected, level: float, baseline: Baseline, marks: Marks
) -> Judging:
    """The newest points held against a baseline that was chosen."""
    tracks = [store.points(stored.series.id, stored.metric, MAX_POINTS) for stored, _ in series]
    sides = [baseline.sides(points) for points in tracks]
    judged = [gate.against(*each) if all(each) else None for each in sides]
    watches = [
        Watch(points, threshold, stored.unit, stored.series.machine)
        for points, (stored, threshold) in zip(tracks, series, strict=True)
    ]
    judgements = gate.decide(watches, judged, level, suspicious=gate.SUSPICIOUS)
    findings = []
    for (stored, limit), each, known, judgement in zip(
        series, sides, judged, judgements, strict=True
    ):
        if known is None:
            reason = _skip_reason(store, stored, each, baseline)
            findings.append(_series(stored, limit, reason))
            continue
        both = [*each.baseline[-gate.WINDOW :], *each.candidate]
        stands = known.baseline[1] - 1
        checked = _make_checked(stored, limit, known, both, stands, judgement)
        findings.append(_respect_acceptance(checked, both, marks.of(stored)))
    return Judging(findings, [], [])


def _respect_acceptance(
    checked: CheckedSeries, points: Sequence[Point], marks: Sequence[RegressionMark]
) -> CheckedSeries:
    """A change that was accepted is fine as long as it does not grow."""
    ids = {point.id for point in points}
    accepted = [mark for mark in marks if mark.state == "accepted" and mark.first in ids]
    if checked.judgement not in {"regression", "suspect"} or not accepted:
        return checked
    level = accepted[-1].baseline * accepted[-1].size
    if gate.is_worse(checked.candidate / level, checked.threshold, checked.unit):
        return checked
    text = f"{checked.text}{accepted_text(accepted[-1])}"
    return msgspec.structs.replace(checked, judgement="fine", text=text)


def _make_checked(
    series: StoredSeries,
    threshold: Threshold,
    judged: Judged,
    points: Sequence[Point],
    stands: int,
    judgement: Judgement,
) -> CheckedSeries:
    """`stands` is the place of the point that is measured again for the baseline."""
    counts = [end - start for start, end in (judged.baseline, judged.candidate)]
    low, high = judged.interval
    return msgspec.structs.replace(
        _series(series, threshold, f"{counts[1]} points against {counts[0]}"),
        judgement=judgement,
        size=judged.size,
        low=low,
        high=high,
        p=judged.displayed_p,
        baseline=judged.levels[0],
        candidate=judged.levels[1],
        baseline_id=points[stands].id,
        candidate_id=points[judged.candidate[1] - 1].id,
        first_id=points[judged.candidate[0]].id,
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
