"""Series over time: the list of them, and one with its shifts."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from datetime import datetime

from markupsafe import Markup

from assay.core.contracts import Store
from assay.core.errors import unknown
from assay.core.records import SCHEMA, Query
from assay.core.series import KeptSeries, Point
from assay.core.units import human
from assay.web.charts.scale import scale_of
from assay.web.charts.svg import Chart, Series, drawn, interval_cell
from assay.web.page import Cell, Choice, Form, Grid, Page, Section

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
    """One series over time."""
    kept = _found(store, series, metric)
    points = store.points(series, metric)
    newest = points[-1]
    return Page(
        title=kept.series.key,
        lead=f"{kept.metric} was {human(newest.value, kept.unit)} on {newest.started[:10]}.",
        command=f"assay history {shlex.quote(kept.series.key)} --metric {kept.metric}",
        document={
            "schema": SCHEMA,
            "kind": "series",
            **_plain(kept),
            "values": [point._asdict() for point in points],
        },
        sections=(
            Section(title=kept.metric, chart=_chart(kept, points)),
            Section(title="Newest points", grid=_points(kept, points[: -NEWEST - 1 : -1])),
        ),
    )


def _found(store: Store, series: str, metric: str) -> KeptSeries:
    for one in store.series(Query()):
        if one.series.id == series and one.metric == metric:
            return one
    raise unknown("series", f"{series}/{metric}", [], hint="All of them are at /history.")


def _chart(kept: KeptSeries, points: Sequence[Point]) -> Markup:
    series = Series(
        name="",
        xs=[datetime.fromisoformat(point.started).timestamp() for point in points],
        ys=[point.value for point in points],
        lows=[point.low for point in points],
        highs=[point.high for point in points],
        texts=[f"{human(p.value, kept.unit)}, {p.started[:16]}, {p.id}" for p in points],
    )
    return drawn(
        Chart(title=kept.metric, series=(series,), x_kind="time", unit=kept.unit, height=320)
    )


def _points(kept: KeptSeries, points: Sequence[Point]) -> Grid:
    scale = scale_of([end for point in points for end in (point.low, point.value, point.high)])
    return Grid(
        columns=("when", kept.metric, "interval", "commit", "label", "result"),
        rows=tuple(
            (
                Cell(text=point.started[:16].replace("T", " ")),
                Cell(text=human(point.value, kept.unit), sort=point.value),
                Cell(drawing=interval_cell(point.low, point.value, point.high, scale)),
                Cell(text=point.commit[:10]),
                Cell(text=point.label),
                Cell(text=point.id, to=f"/runs/{point.id}"),
            )
            for point in points
        ),
        numeric=frozenset({kept.metric}),
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
