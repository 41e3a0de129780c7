"""Did anything get worse: every series together, suspects measured again, alerts sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Annotated

import msgspec

from assay.commands.check import alerts as alerting
from assay.commands.check.judge import Judging, judge_against, judge_newest, select_series
from assay.commands.check.marks import Marks, keep_marks
from assay.commands.check.report import CheckedSeries, CheckReport, status
from assay.commands.history.api import summarize_all
from assay.core import codec
from assay.core.contracts import Store
from assay.core.errors import UsageError, unknown_name_error
from assay.core.options import Flag, Seconds, Share, StoreUrl, accept_old_keywords
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Query
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.core.units import as_integer, as_share
from assay.measure.baseline import choose
from assay.stats.gate import parse_threshold

DEFAULT_LEVEL = 0.01
__all__ = ["CheckReport", "CheckedSeries", "check", "read_report", "status"]


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
    accept: Annotated[
        Sequence[str],
        Flag(
            "Accept the change of a series that is a suspect or a regression; repeatable, with "
            "--why.",
            "SERIES",
            complete="cases",
        ),
    ] = (),
    why: Annotated[
        str, Flag("Why it is accepted; stored with your name and the time.", "TEXT")
    ] = "",
    alerts: Annotated[
        Sequence[str],
        Flag(
            "Where to report regressions: https://… (as Slack takes it), "
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

    With `confirm`, at most `most` suspects are measured again, the worst first. A regression stays
    open until it is confirmed, refuted, accepted or gone; `accept` takes cases or ids of series.

    >>> report = assay.check("main", ["step_time:3%"])
    >>> [series.key for series in report if series.judgement == "regression"]
    >>> print(report)
    >>> assay.check(accept="mnist-mlp@jax", why="the new default is more accurate")
    """
    share = as_share(level, "The level", "1%")
    most = as_integer(most, "most", 1)
    accepted = _parse_accept(accept, why)
    alerting.check_places(alerts)
    with closing(open_store(store)) as results:
        marks = Marks(results)
        judging, checked = _judge(results, marks, since, fail_on, query, share)
        if accepted:
            checked = _replace(checked, _accept(checked.found, accepted, why))
        if confirm:
            again = _confirm_worst(results, budget, store, progress)
            checked = _replace(checked, _apply_confirmations(checked.found, most, again))
        to_mark = [each for each in checked.found if not since or each.outcome == "accepted"]
        notes = keep_marks(results, to_mark, judging.gone, marks)
    checked = msgspec.structs.replace(checked, confirmed=confirm, notes=tuple(notes))
    return _send_alerts(checked, alerts)


def read_report(
    store: Store,
    since: str = "",
    fail_on: Sequence[str] = (),
    query: Query = Query(),  # noqa: B008 (frozen)
) -> CheckReport:
    """A check of an open store that measures and stores nothing."""
    return _judge(store, Marks(store), since, fail_on, query, DEFAULT_LEVEL)[1]


def _judge(
    store: Store,
    marks: Marks,
    since: str,
    fail_on: Sequence[str],
    query: Query,
    level: float,
) -> tuple[Judging, CheckReport]:
    thresholds = [parse_threshold(text) for text in fail_on]
    summarize_all(store, query)
    baseline = choose(since, store) if since else None
    series = select_series(store.series(query), thresholds)
    if baseline:
        judging = judge_against(store, series, level, baseline, marks)
    else:
        judging = judge_newest(store, series, level, marks)
    text = baseline.text if baseline else "the last stretch without a shift"
    checked_series = tuple(judging.series)
    return judging, CheckReport(
        found=checked_series,
        level=level,
        since=text,
        named=bool(since),
        machines=tuple(judging.machines),
    )


def _parse_accept(accept: Sequence[str] | str, why: str) -> list[str]:
    names = [accept] if isinstance(accept, str) else list(accept)
    if names and not why.strip():
        raise UsageError(
            f"'{names[0]}' is accepted without a reason.",
            hint="As in: assay check --accept CASE --why 'the new default is more accurate'",
        )
    if why and not names:
        raise UsageError(
            "A reason is given, but no series to accept.", hint="Name one: --accept CASE"
        )
    return names


def _accept(
    checked_series: Sequence[CheckedSeries], names: Sequence[str], why: str
) -> list[CheckedSeries]:
    flagged = {"regression", "suspect"}
    for name in names:
        named = [series for series in checked_series if name in (series.key, series.series)]
        if not named:
            keys = {series.key for series in checked_series}
            raise unknown_name_error("series", name, keys, hint="assay check --all lists them.")
        if not any(series.judgement in flagged for series in named):
            raise UsageError(
                f"'{name}' has no regression and no suspect to accept.",
                hint="assay check lists what there is.",
            )
    return [
        msgspec.structs.replace(series, outcome="accepted", confirmation=why)
        if series.judgement in flagged and not {series.key, series.series}.isdisjoint(names)
        else series
        for series in checked_series
    ]


def _replace(checked: CheckReport, checked_series: Sequence[CheckedSeries]) -> CheckReport:
    return msgspec.structs.replace(checked, found=tuple(checked_series))


def _confirm_worst(
    store: Store, budget: float | str, home: Home, progress: ProgressCallback
) -> Callable[[CheckedSeries], CheckedSeries]:
    from assay.commands.check.confirm import make_confirmer

    return make_confirmer(store, budget, home, progress)


def _apply_confirmations(
    checked: Sequence[CheckedSeries], most: int, again: Callable[[CheckedSeries], CheckedSeries]
) -> list[CheckedSeries]:
    """One that was confirmed or accepted before is not measured again."""
    suspects = [
        series
        for series in checked
        if series.judgement in {"regression", "suspect"} and not series.outcome
    ]
    worst = sorted(suspects, key=lambda series: abs(series.size - 1), reverse=True)
    outcomes = {id(series): again(series) for series in worst[:most]}
    for series in worst[most:]:
        text = f"not measured again: the {most} worst were"
        outcomes[id(series)] = msgspec.structs.replace(
            series, outcome="undecided", confirmation=text
        )
    return [outcomes.get(id(series), series) for series in checked]


def _send_alerts(checked: CheckReport, places: Sequence[str]) -> CheckReport:
    """For a regression only: a suspect is often one bad night."""
    from assay.commands.check.view import alert_text

    if not places or status(checked) != 5:
        return checked
    sent = alerting.send_all(places, alert_text(checked), codec.encode(checked))
    return msgspec.structs.replace(checked, alerts=tuple(sent))
