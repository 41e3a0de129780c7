"""Accuracy with its interval, and against speed where both are known."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.contracts import Store
from assay.core.records import SCHEMA, Query
from assay.core.series import Point, StoredSeries
from assay.core.units import human, span
from assay.web.charts.scale import make_scale
from assay.web.charts.svg import Chart, Dots, interval_cell, render_chart
from assay.web.page import Cell, Choice, Form, Grid, Page, Section
from assay.web.pages import PageRoute


class AccuracyRow(msgspec.Struct, frozen=True, kw_only=True):
    """The newest accuracy of a series, and the highest rate of the same net on that backend."""

    series: StoredSeries
    accuracy: Point
    rate: Point | None


PAGES = (
    PageRoute(
        "/accuracy", lambda store, query, _: accuracy_page(store, query), "Accuracy", 7, True
    ),
)


def accuracy_page(store: Store, params: dict[str, str]) -> Page:
    workload = params.get("workload", "")
    all_series = store.series(Query(workload=workload))
    rows = _accuracy_rows(store, all_series)
    timed = [row for row in rows if row.rate]
    return Page(
        title="Accuracy",
        lead="" if rows else "No accuracy has been measured yet.",
        command="assay run --suite accuracy",
        document={
            "schema": SCHEMA,
            "kind": "accuracies",
            "accuracies": [_plain(row) for row in rows],
        },
        sections=(
            *([_pareto(timed)] if timed else []),
            Section(title="Newest accuracies", grid=_grid(rows)),
        ),
        form=Form(
            action="/accuracy",
            fields=(Choice(name="workload", label="workload", value=workload),),
        ),
    )


def _accuracy_rows(store: Store, all_series: Sequence[StoredSeries]) -> list[AccuracyRow]:
    rates: dict[tuple[str, str], Point] = {}
    for series in all_series:
        if series.metric == "throughput":
            [point] = store.points(series.series.id, "throughput", 1)
            key = (series.series.workload, series.series.backend)
            if key not in rates or point.value > rates[key].value:
                rates[key] = point
    return [
        AccuracyRow(
            series=series,
            accuracy=_in_percent(store.points(series.series.id, "accuracy", 1)[0], series.unit),
            rate=rates.get((series.series.workload, series.series.backend)),
        )
        for series in all_series
        if series.metric == "accuracy"
    ]


def _in_percent(point: Point, unit: str) -> Point:
    """A log reports an accuracy as a share, which has no unit."""
    if unit or not 0 <= point.value <= 1:
        return point
    return point._replace(value=100 * point.value, low=100 * point.low, high=100 * point.high)


def _grid(rows: Sequence[AccuracyRow]) -> Grid:
    scale = make_scale([end for row in rows for end in (row.accuracy.low, row.accuracy.high)])
    return Grid(
        columns=("case", "accuracy", "95 % interval", "items/s", "when"),
        rows=tuple(
            (
                Cell(text=row.series.series.key, to=f"/runs/{row.accuracy.id}"),
                Cell(text=f"{row.accuracy.value:.2f} %", sort=row.accuracy.value),
                Cell(
                    text=span(row.accuracy.low, row.accuracy.high, "{:.2f}".format),
                    drawing=interval_cell(
                        row.accuracy.low, row.accuracy.value, row.accuracy.high, scale
                    ),
                ),
                Cell(text=human(row.rate.value, "") if row.rate else ""),
                Cell(text=row.accuracy.started[:10]),
            )
            for row in rows
        ),
        numeric=frozenset({"accuracy", "95 % interval", "items/s"}),
        empty="Evaluate a trained network: assay evaluate lenet@keras-jax",
    )


def _pareto(rows: Sequence[AccuracyRow]) -> Section:
    points = [(row, row.rate) for row in rows if row.rate]
    series = Dots(
        name="",
        xs=[rate.value for _, rate in points],
        ys=[row.accuracy.value for row, _ in points],
        lows=[row.accuracy.low for row, _ in points],
        highs=[row.accuracy.high for row, _ in points],
        tooltip=lambda i: f"{points[i][0].series.series.key}: {points[i][0].accuracy.value:.2f} %",
    )
    chart = Chart(
        title="accuracy against speed: above and to the right is better",
        series=(series,),
        x_label="items per second, the fastest that was measured on that backend",
        unit="%",
    )
    return Section(title="Accuracy and speed", chart=render_chart(chart))


def _plain(row: AccuracyRow) -> dict[str, object]:
    return {
        "case": row.series.series.key,
        "accuracy": row.accuracy._asdict(),
        "throughput": row.rate._asdict() if row.rate else None,
    }
