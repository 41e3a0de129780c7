"""Speed against what it costs: memory and energy of each case, and which no other beats in both."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence

import msgspec

from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.findings import Reading
from assay.core.records import SCHEMA
from assay.core.units import human
from assay.stats import stored_summary
from assay.stores.selection import select, selected
from assay.web.charts.kinds import Priced, front, front_chart
from assay.web.page import Cell, Choice, Form, Grid, Page, Section

MOST = 300  # results that one page opens


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Something to have less of."""

    name: str
    unit: str
    of: Callable[[Reading], float | None]


def tradeoffs_page(store: Store, given: dict[str, str]) -> Page:
    text = given.get("of") or "last"
    form = Form(
        action="/tradeoffs",
        fields=(Choice(name="of", label="run, label, tag, commit or day", value=text),),
    )
    try:
        readings = _readings(store, text)
    except UsageError as error:
        return _page(text, form, f"{error} {error.hint}", {})
    found = {cost.name: priced for cost in COSTS if len(priced := _priced(readings, cost)) > 1}
    lead = f"{len(readings)} results with a speed." if found else EMPTY
    return _page(text, form, lead, found)


EMPTY = (
    "No two results here have a speed, and memory or energy beside it. "
    "Choose a run of several cases: assay run mnist-mlp"
)


def _page(text: str, form: Form, lead: str, found: dict[str, list[Priced]]) -> Page:
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
                    msgspec.to_builtins(one) | {"on_the_front": one in front(priced)}
                    for one in priced
                ]
                for name, priced in found.items()
            },
        },
        sections=tuple(_section(cost, found[cost.name]) for cost in COSTS if cost.name in found),
        form=form,
    )


def _readings(store: Store, text: str) -> list[Reading]:
    count = store.count(selected(store, text))
    if count > MOST:
        raise UsageError(
            f"'{text}' has {count} results, and one page opens {MOST}.", hint="Choose a run."
        )
    found = [stored_summary.read(store, result) for result in select(store, text)]
    return [reading for reading in found if _rate(reading)]


def _rate(reading: Reading) -> float:
    quantity = reading.own.get("throughput")
    return quantity.value if quantity else 0.0


def _energy(reading: Reading) -> float | None:
    """Joules of an item at the mean power while the case ran."""
    result = reading.result
    joules = result.peaks.get("energy_joules")
    return joules / result.seconds / _rate(reading) if joules and result.seconds else None


def _peak(name: str) -> Callable[[Reading], float | None]:
    return lambda reading: reading.result.peaks.get(name)


COSTS = (
    Cost(name="memory", unit="B", of=_peak("max_rss")),
    Cost(name="GPU memory", unit="B", of=_peak("max_gpu_memory")),
    Cost(name="energy of an item", unit="J", of=_energy),
)


def _priced(readings: Sequence[Reading], cost: Cost) -> list[Priced]:
    return [
        Priced(name=r.result.case.key, id=r.result.id, rate=_rate(r), cost=value)
        for r in readings
        if (value := cost.of(r))
    ]


def _section(cost: Cost, priced: Sequence[Priced]) -> Section:
    best = front(priced)
    ordered = sorted(priced, key=lambda one: (one not in best, -one.rate))
    rows = tuple(
        (
            Cell(text=one.name, to=f"/runs/{one.id}"),
            Cell(text=human(one.rate, ""), sort=one.rate),
            Cell(text=human(one.cost, cost.unit), sort=one.cost),
            Cell(text="yes" if one in best else "", style="good"),
        )
        for one in ordered
    )
    columns = ("case", "items/s", cost.name, "no other beats it in both")
    return Section(
        title=f"Speed against {cost.name}",
        chart=front_chart(f"{cost.name}: below and to the right is better", priced, cost.unit),
        grid=Grid(columns=columns, rows=rows, numeric=frozenset({"items/s", cost.name})),
    )
