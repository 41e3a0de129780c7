"""Accuracy with its interval, and against speed where both are known."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.contracts import Store
from assay.core.records import SCHEMA, Query
from assay.core.series import KeptSeries, Point
from assay.core.units import human
from assay.web.charts.scale import scale_of
from assay.web.charts.svg import Chart, Dots, drawn, interval_cell
from assay.web.page import Cell, Choice, Form, Grid, Page, Section


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """The newest accuracy of a series, and the highest rate of the same net on that backend."""

    series: KeptSeries
    accuracy: Point
    rate: Point | None


def accuracy_page(store: Store, given: dict[str, str]) -> Page:
    workload = given.get("workload", "")
    kept = store.series(Query(workload=workload))
    rows = _evaluated(store, kept)
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


def _evaluated(store: Store, kept: Sequence[KeptSeries]) -> list[Evaluated]:
    rates: dict[tuple[str, str], Point] = {}
    for one in kept:
        if one.metric == "throughput":
            [point] = store.points(one.series.id, "throughput", 1)
            place = (one.series.workload, one.series.backend)
            if place not in rates or point.value > rates[place].value:
                rates[place] = point
    return [
        Evaluated(
            series=one,
            accuracy=store.points(one.series.id, "accuracy", 1)[0],
            rate=rates.get((one.series.workload, one.series.backend)),
        )
        for one in kept
        if one.metric == "accuracy"
    ]


def _grid(rows: Sequence[Evaluated]) -> Grid:
    scale = scale_of([end for row in rows for end in (row.accuracy.low, row.accuracy.high)])
    return Grid(
        columns=("case", "accuracy", "95 % interval", "items/s", "when"),
        rows=tuple(
            (
                Cell(text=row.series.series.key, to=f"/runs/{row.accuracy.id}"),
                Cell(text=f"{row.accuracy.value:.2f} %", sort=row.accuracy.value),
                Cell(
                    text=f"{row.accuracy.low:.2f} – {row.accuracy.high:.2f}",
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


def _pareto(rows: Sequence[Evaluated]) -> Section:
    points = [(row, row.rate) for row in rows if row.rate]
    series = Dots(
        name="",
        xs=[rate.value for _, rate in points],
        ys=[row.accuracy.value for row, _ in points],
        lows=[row.accuracy.low for row, _ in points],
        highs=[row.accuracy.high for row, _ in points],
        told=lambda i: f"{points[i][0].series.series.key}: {points[i][0].accuracy.value:.2f} %",
    )
    chart = Chart(
        title="accuracy against speed: above and to the right is better",
        series=(series,),
        x_label="items per second, the fastest that was measured on that backend",
        unit="%",
    )
    return Section(title="Accuracy and speed", chart=drawn(chart))


def _plain(row: Evaluated) -> dict[str, object]:
    return {
        "case": row.series.series.key,
        "accuracy": row.accuracy._asdict(),
        "throughput": row.rate._asdict() if row.rate else None,
    }
