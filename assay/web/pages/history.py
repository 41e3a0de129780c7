"""Series over time: the list of them, and one with its shifts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.core.contracts import Store
from assay.core.records import SCHEMA, Query
from assay.core.series import KeptSeries
from assay.web.page import Cell, Choice, Form, Grid, Page, Section

METRICS = ("step_time", "throughput", "accuracy", "wall_time")  # shown first, where there are any
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
