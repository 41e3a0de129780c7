"""Series over time: the list of them, and one with its shifts."""

from __future__ import annotations

import itertools
import shlex
import statistics
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from markupsafe import Markup

from assay.commands.history import view
from assay.commands.history.api import ExplainedShift, SeriesHistory, read
from assay.core.contracts import Store
from assay.core.errors import unknown_name_error
from assay.core.records import SCHEMA, Query
from assay.core.series import StoredSeries
from assay.core.units import human, percent_change, plural
from assay.web.charts.scale import make_scale
from assay.web.charts.svg import (
    Chart,
    Dots,
    Level,
    Mark,
    interval_cell,
    render_chart,
    sparkline,
)
from assay.web.page import Cell, Choice, Form, Grid, Page, Section, table_section
from assay.web.pages import PageRoute

METRICS = ("step_time", "throughput", "accuracy", "wall_time")  # shown first, where there are any
MAX_DRAWN = 200  # series whose points are read for the list
DRAWN_POINTS = 30  # newest points of each
MAX_POINTS = 50  # points that a page lists; the chart has all
FIELDS = ("workload", "backend", "label", "machine")
PAGES = (
    PageRoute(
        "/history", lambda store, query, _: all_series_page(store, query), "History", 3, True
    ),
    PageRoute(
        "/history/{series}/{metric}",
        lambda store, query, _: series_page(store, query["series"], query["metric"]),
    ),
)


def all_series_page(store: Store, params: dict[str, str]) -> Page:
    """Every series, with its newest value; one metric at a time."""
    query = Query(**{name: params.get(name, "") for name in FIELDS})  # type: ignore[arg-type]
    everything = store.series(query)
    all_series = [s for s in everything if not s.series.how or params.get("all")]
    hidden = len(everything) - len(all_series)
    metrics = _metrics(all_series)
    metric = params.get("metric") or (metrics[0] if metrics else "")
    shown = [series for series in all_series if series.metric == metric][::-1]
    fields = (
        Choice(name="metric", label="metric", value=metric, choices=tuple((m, m) for m in metrics)),
        *(Choice(name=name, label=name, value=params.get(name, "")) for name in FIELDS),
        Choice(
            name="all",
            label="processes of ab, race, bisect",
            value=params.get("all", ""),
            choices=(("", "hidden"), ("1", "shown")),
        ),
    )
    return Page(
        title="History",
        lead=f"{len(shown)} series of {metric}." if shown else "",
        command="assay history",
        document={
            "schema": SCHEMA,
            "kind": "series-list",
            "metric": metric,
            "series": [_plain(series) for series in shown],
        },
        sections=(Section(title="", grid=_grid(store, shown)),),
        form=Form(action="/history", fields=fields) if metrics or hidden else None,
    )


def series_page(store: Store, series: str, metric: str) -> Page:
    """One series over time, with its shifts and what changed there."""
    history = read(store, _find_series(store, series, metric))
    newest = history.points[-1]
    return Page(
        title=history.key,
        lead=f"{metric} was {human(newest.value, history.unit)} on {newest.started[:10]}; "
        f"{len(history.shifts)} shift{'' if len(history.shifts) == 1 else 's'} in "
        f"{plural(len(history.points), 'point')}.",
        command=f"assay history {shlex.quote(history.key)} --metric {metric}",
        document=lambda: view.output([history], "json").document,
        sections=(
            Section(
                title=f"{metric} on {history.machine or 'an unknown machine'}",
                chart=_chart(history),
            ),
            table_section(view.shifts_table(history), "Shifts"),
            Section(title="Newest points", grid=_points(history)),
        ),
    )


def _find_series(store: Store, series: str, metric: str) -> StoredSeries:
    match = store.one_series(series, metric)
    if match is None:
        known = [f"{each.series.id}/{each.metric}" for each in store.series(Query())]
        raise unknown_name_error(
            "series", f"{series}/{metric}", known, hint="All of them are at /history."
        )
    return match


def _chart(history: SeriesHistory) -> Markup:
    times = [datetime.fromisoformat(point.started).timestamp() for point in history.points]

    def tooltip(i: int) -> str:
        point = history.points[i]
        return f"{human(point.value, history.unit)}, {point.started[:16]}, {point.id}"

    series = Dots(
        name="",
        xs=times,
        ys=[point.value for point in history.points],
        lows=[point.low for point in history.points],
        highs=[point.high for point in history.points],
        tooltip=tooltip,
    )
    return render_chart(
        Chart(
            title=f"{history.metric} of {history.key} over time",
            y_label=f"{history.metric}, with the interval of each point; levels between shifts",
            series=(series,),
            x_kind="time",
            unit=history.unit,
            height=320,
            marks=tuple(_mark(explained, times) for explained in history.shifts),
            levels=tuple(_levels(history, times)),
        )
    )


def _mark(explained: ExplainedShift, times: Sequence[float]) -> Mark:
    text = f"{percent_change(explained.shift.size)} since {explained.shift.started[:16]}"
    return Mark(
        x=times[explained.shift.place], text=f"{text}: {view.changes_text(explained.changed)}"
    )


def _levels(history: SeriesHistory, times: Sequence[float]) -> Iterator[Level]:
    """The median of each stretch between shifts."""
    edges = [0, *(explained.shift.place for explained in history.shifts), len(times)]
    for start, end in itertools.pairwise(edges):
        middle = statistics.median(point.value for point in history.points[start:end])
        yield Level(start=times[start], end=times[end - 1], value=middle)


def _points(history: SeriesHistory) -> Grid:
    points = history.points[: -MAX_POINTS - 1 : -1]
    scale = make_scale([end for point in points for end in (point.low, point.value, point.high)])
    return Grid(
        columns=("when", history.metric, "interval", "commit", "label", "result"),
        rows=tuple(
            (
                Cell(text=point.started[:16].replace("T", " ")),
                Cell(text=human(point.value, history.unit), sort=point.value),
                Cell(drawing=interval_cell(point.low, point.value, point.high, scale)),
                Cell(text=point.commit[:10]),
                Cell(text=point.label),
                Cell(text=point.id, to=f"/runs/{point.id}"),
            )
            for point in points
        ),
        numeric=frozenset({history.metric}),
        minor=frozenset({"interval", "label", "result"}),
    )


def addresses(store: Store) -> list[tuple[str, str]]:
    """Id and metric of every series, of its main metrics."""
    return [(k.series.id, k.metric) for k in store.series(Query()) if k.metric in METRICS]


def _metrics(all_series: Iterable[StoredSeries]) -> list[str]:
    metrics = {series.metric for series in all_series}
    return [m for m in METRICS if m in metrics] + sorted(metrics - set(METRICS))


def _grid(store: Store, shown: Sequence[StoredSeries]) -> Grid:
    return Grid(
        columns=("case", "newest", "change", "over time", "points", "when", "machine"),
        rows=tuple(
            _series_row(store, series, number < MAX_DRAWN) for number, series in enumerate(shown)
        ),
        numeric=frozenset({"newest", "change", "points"}),
        minor=frozenset({"over time", "points", "when", "machine"}),
        empty="No series yet: measure the same case more than once, and it has a history.",
    )


def _series_row(store: Store, series: StoredSeries, drawn: bool) -> tuple[Cell, ...]:
    """The change is that of the newest point from the median of those before it."""
    points = store.points(series.series.id, series.metric, DRAWN_POINTS) if drawn else []
    values = [point.value for point in points]
    before = statistics.median(values[:-1]) if len(values) > 1 else 0.0
    ratio = values[-1] / before if before > 0 else 0.0
    return (
        Cell(text=series.series.key, to=f"/history/{series.series.id}/{series.metric}"),
        Cell(text=human(values[-1], series.unit), sort=values[-1]) if values else Cell(),
        Cell(text=percent_change(ratio), sort=ratio) if ratio > 0 else Cell(),
        Cell(drawing=sparkline(values)),
        Cell(text=str(series.count), sort=series.count),
        Cell(text=series.last[:16].replace("T", " ")),
        Cell(text=series.series.machine),
    )


def _plain(series: StoredSeries) -> dict[str, object]:
    return {
        "id": series.series.id,
        "case": series.series.key,
        "machine": series.series.machine,
        "metric": series.metric,
        "unit": series.unit,
        "points": series.count,
        "first": series.first,
        "last": series.last,
    }
