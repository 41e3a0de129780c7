"""Speed against memory and energy of each case, with the Pareto front."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from assay.commands.list.api import list_runs
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.findings import SummarizedResult
from assay.core.records import SCHEMA, Query
from assay.core.units import human
from assay.stats import stored_summary
from assay.stores.selection import parse_selection, select
from assay.web.charts.kinds import CostPoint, front_chart, pareto_front
from assay.web.page import Cell, Choice, Form, Grid, Page, Section
from assay.web.pages import PageRoute
from assay.web.pages.overview import MAX_LISTED, NEWEST, read_numbers

MAX_CHOICES = 30  # runs to choose from
MAX_RESULTS = 300  # results that one page opens


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity of which less is better."""

    name: str
    unit: str
    of: Callable[[SummarizedResult], float | None]


PAGES = (
    PageRoute("/tradeoffs", lambda store, query, _: tradeoffs_page(store, query), "Trade-offs", 6),
)


def tradeoffs_page(store: Store, params: dict[str, str]) -> Page:
    text = params.get("of", "")
    form = Form(
        action="/tradeoffs",
        fields=(Choice(name="of", label="run, label, tag, commit or day", value=text),),
    )
    if not text:
        return _choices_page(store, form)
    try:
        readings = _readings(store, text)
    except UsageError as error:
        return _page(text, form, f"{error} {error.hint}", {})
    by_cost = {
        cost.name: priced for cost in COSTS if len(priced := _cost_points(readings, cost)) > 1
    }
    lead = f"{len(readings)} results with a speed." if by_cost else NO_TRADEOFFS
    return _page(text, form, lead, by_cost)


def _choices_page(store: Store, form: Form) -> Page:
    """Runs of several cases, to choose from."""
    lines, _ = list_runs(store, Query(limit=NEWEST), MAX_LISTED, numbers=read_numbers)
    speeds = store.points_of(Query(ids=[line.run for line in lines]), ("throughput",))
    counts = Counter(point.point.id.partition("/")[0] for point in speeds if lines)
    several = [line for line in reversed(lines) if counts[line.run] > 1][:MAX_CHOICES]
    rows = tuple(
        (
            Cell(text=line.request, to=f"/tradeoffs?of={line.run}"),
            Cell(text=line.verb),
            Cell(text=line.headline),
            Cell(text=line.started[:16].replace("T", " ")),
        )
        for line in several
    )
    grid = Grid(
        columns=("cases", "command", "result", "when"),
        rows=rows,
        minor=frozenset({"command", "when"}),
        empty="No run has several cases yet: assay run mnist-mlp",
    )
    return Page(
        title="Trade-offs",
        lead="Choose a run: its cases are drawn by speed against memory and energy.",
        command="assay show last --columns memory,energy",
        document={
            "schema": SCHEMA,
            "kind": "tradeoffs",
            "of": "",
            "choices": [line.run for line in several],
        },
        sections=(Section(title="Runs of several cases", grid=grid),),
        form=form,
    )


NO_TRADEOFFS = (
    "No two results here have a speed, and memory or energy beside it. "
    "Choose a run of several cases: assay run mnist-mlp"
)


def _page(text: str, form: Form, lead: str, by_cost: dict[str, list[CostPoint]]) -> Page:
    return Page(
        title="Trade-offs",
        lead=lead,
        command=f"assay show {shlex.quote(text)} --columns memory,energy",
        document={
            "schema": SCHEMA,
            "kind": "tradeoffs",
            "of": text,
            "costs": {
                name: [
                    msgspec.to_builtins(point) | {"on_the_front": point in pareto_front(priced)}
                    for point in priced
                ]
                for name, priced in by_cost.items()
            },
        },
        sections=tuple(
            _section(cost, by_cost[cost.name]) for cost in COSTS if cost.name in by_cost
        ),
        form=form,
    )


def _readings(store: Store, text: str) -> list[SummarizedResult]:
    count = store.count(parse_selection(store, text))
    if count > MAX_RESULTS:
        raise UsageError(
            f"'{text}' has {count} results, and one page opens {MAX_RESULTS}.", hint="Choose a run."
        )
    readings = [stored_summary.read(store, result) for result in select(store, text)]
    return [reading for reading in readings if _rate(reading)]


def _rate(reading: SummarizedResult) -> float:
    quantity = reading.measured_only.get("throughput")
    return quantity.value if quantity else 0.0


def _energy(reading: SummarizedResult) -> float | None:
    """Joules of an item at the mean power while the case ran."""
    result = reading.result
    joules = result.peaks.get("energy_joules")
    return joules / result.seconds / _rate(reading) if joules and result.seconds else None


def _peak(name: str) -> Callable[[SummarizedResult], float | None]:
    return lambda reading: reading.result.peaks.get(name)


COSTS = (
    Cost(name="memory", unit="B", of=_peak("max_rss")),
    Cost(name="GPU memory", unit="B", of=_peak("max_gpu_memory")),
    Cost(name="energy of an item", unit="J", of=_energy),
)


def _cost_points(readings: Sequence[SummarizedResult], cost: Cost) -> list[CostPoint]:
    return [
        CostPoint(name=r.result.case.key, id=r.result.id, rate=_rate(r), cost=value)
        for r in readings
        if (value := cost.of(r))
    ]


def _section(cost: Cost, priced: Sequence[CostPoint]) -> Section:
    best = pareto_front(priced)
    ordered = sorted(priced, key=lambda point: (point not in best, -point.rate))
    rows = tuple(
        (
            Cell(text=point.name, to=f"/runs/{point.id}"),
            Cell(text=human(point.rate, ""), sort=point.rate),
            Cell(text=human(point.cost, cost.unit), sort=point.cost),
            Cell(text="yes" if point in best else "", style="good"),
        )
        for point in ordered
    )
    columns = ("case", "items/s", cost.name, "on the Pareto front")
    return Section(
        title=f"Speed against {cost.name}",
        chart=front_chart(f"{cost.name}: below and to the right is better", priced, cost.unit),
        grid=Grid(columns=columns, rows=rows, numeric=frozenset({"items/s", cost.name})),
    )
