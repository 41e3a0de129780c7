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
from assay.core.errors import unknown
from assay.core.records import SCHEMA, Query
from assay.core.series import KeptSeries
from assay.core.units import change, human
from assay.web.charts.scale import scale_of
from assay.web.charts.svg import Chart, Dots, Level, Mark, drawn, interval_cell
from assay.web.page import Cell, Choice, Form, Grid, Page, Section, section

METRICS = ("step_time", "throughput", "accuracy", "wall_time")  # shown first, where there are any
NEWEST = 50  # points that a page lists; the chart has all
FIELDS = ("workload", "backend", "label", "machine")


def all_series_page(store: Store, given: dict[str, str]) -> Page:
    """Every series, with its newest value; one metric at a time."""
    query = Query(**{name: given.get(name, "") for name in FIELDS})  # type: ignore[arg-type]
    kept = store.series(query)
    metrics = _metrics(kept)
    metric = given.get("metric") or (metrics[0] if metrics else "")
    shown = [one for one in kept if one.metric == metric][::-1]
    fields = (
        Choice(name="metric", label="metric", value=metric, choices=tuple((m, m) for m in metrics)),
        *(Choice(name=name, label=name, value=given.get(name, "")) for name in FIELDS),
    )
    return Page(
        title="History",
        lead=f"{len(shown)} series of {metric}." if shown else "",
        command="assay history",
        document={
            "schema": SCHEMA,
            "kind": "series-list",
            "metric": metric,
            "series": [_plain(one) for one in shown],
        },
        sections=(Section(title="", grid=_grid(shown)),),
        form=Form(action="/history", fields=fields) if metrics else None,
    )


def series_page(store: Store, series: str, metric: str) -> Page:
    """One series over time, with its shifts and what changed there."""
    found = read(store, _found(store, series, metric))
    newest = found.points[-1]
    return Page(
        title=found.key,
        lead=f"{metric} was {human(newest.value, found.unit)} on {newest.started[:10]}; "
        f"{len(found.shifts)} shift{'' if len(found.shifts) == 1 else 's'} in "
        f"{len(found.points)} points.",
        command=f"assay history {shlex.quote(found.key)} --metric {metric}",
        document=lambda: view.output([found], "json").document,
        sections=(
            Section(
                title=f"{metric} on {found.machine or 'an unknown machine'}", chart=_chart(found)
            ),
            section(view.shifts_table(found), "Shifts"),
            Section(title="Newest points", grid=_points(found)),
        ),
    )


def _found(store: Store, series: str, metric: str) -> KeptSeries:
    found = store.one_series(series, metric)
    if found is None:
        known = [f"{one.series.id}/{one.metric}" for one in store.series(Query())]
        raise unknown("series", f"{series}/{metric}", known, hint="All of them are at /history.")
    return found


def _chart(found: SeriesHistory) -> Markup:
    times = [datetime.fromisoformat(point.started).timestamp() for point in found.points]

    def told(i: int) -> str:
        point = found.points[i]
        return f"{human(point.value, found.unit)}, {point.started[:16]}, {point.id}"

    series = Dots(
        name="",
        xs=times,
        ys=[point.value for point in found.points],
        lows=[point.low for point in found.points],
        highs=[point.high for point in found.points],
        told=told,
    )
    return drawn(
        Chart(
            title=f"{found.metric} of {found.key} over time",
            y_label=f"{found.metric}, with the interval of each point; levels between shifts",
            series=(series,),
            x_kind="time",
            unit=found.unit,
            height=320,
            marks=tuple(_mark(one, times) for one in found.shifts),
            levels=tuple(_levels(found, times)),
        )
    )


def _mark(one: ExplainedShift, times: Sequence[float]) -> Mark:
    text = f"{change(one.shift.size)} since {one.shift.started[:16]}"
    return Mark(x=times[one.shift.place], text=f"{text}: {view.changes_text(one.changed)}")


def _levels(found: SeriesHistory, times: Sequence[float]) -> Iterator[Level]:
    """The median of each stretch between shifts."""
    edges = [0, *(one.shift.place for one in found.shifts), len(times)]
    for start, end in itertools.pairwise(edges):
        middle = statistics.median(point.value for point in found.points[start:end])
        yield Level(start=times[start], end=times[end - 1], value=middle)


def _points(found: SeriesHistory) -> Grid:
    points = found.points[: -NEWEST - 1 : -1]
    scale = scale_of([end for point in points for end in (point.low, point.value, point.high)])
    return Grid(
        columns=("when", found.metric, "interval", "commit", "label", "result"),
        rows=tuple(
            (
                Cell(text=point.started[:16].replace("T", " ")),
                Cell(text=human(point.value, found.unit), sort=point.value),
                Cell(drawing=interval_cell(point.low, point.value, point.high, scale)),
                Cell(text=point.commit[:10]),
                Cell(text=point.label),
                Cell(text=point.id, to=f"/runs/{point.id}"),
            )
            for point in points
        ),
        numeric=frozenset({found.metric}),
    )


def addresses(store: Store) -> list[tuple[str, str]]:
    """Id and metric of every series, of its main metrics."""
    return [(k.series.id, k.metric) for k in store.series(Query()) if k.metric in METRICS]


def _metrics(kept: Iterable[KeptSeries]) -> list[str]:
    there = {one.metric for one in kept}
    return [m for m in METRICS if m in there] + sorted(there - set(METRICS))


def _grid(shown: Sequence[KeptSeries]) -> Grid:
    return Grid(
        columns=("case", "points", "first", "newest", "machine"),
        rows=tuple(
            (
                Cell(text=one.series.key, to=f"/history/{one.series.id}/{one.metric}"),
                Cell(text=str(one.count), sort=one.count),
                Cell(text=one.first[:10]),
                Cell(text=one.last[:16].replace("T", " ")),
                Cell(text=one.series.machine),
            )
            for one in shown
        ),
        numeric=frozenset({"points"}),
        empty="No series yet: measure the same case more than once, and it has a history.",
    )


def _plain(one: KeptSeries) -> dict[str, object]:
    return {
        "id": one.series.id,
        "case": one.series.key,
        "machine": one.series.machine,
        "metric": one.metric,
        "unit": one.unit,
        "points": one.count,
        "first": one.first,
        "last": one.last,
    }
