"""Readings → a table of text, in human units."""

from __future__ import annotations

from collections.abc import Sequence

from assay.findings import Doubt, Quantity, Reading, Summary, Table, Unlikeness
from assay.units import human
from assay.views.accuracies import standing

MAIN = ("step_time", "accuracy")  # what a result is about, if it has one of these
ALONGSIDE = {"open_time", "first_step", "total_time"}  # of every result, whatever it is about
GRAVEST = 2  # doubts of a case that its row's note tells


def results_table(
    readings: Sequence[Reading], title: str = "", unlike: Sequence[Unlikeness] = ()
) -> Table:
    """One row a result; reasons and doubts stand below, beside the name they belong to."""
    return Table(
        columns=(
            "case",
            "step time",
            "95 % interval",
            "items/s",
            "first step",
            "samples",
            "status",
        ),
        rows=tuple(_row(reading) for reading in readings),
        numeric=frozenset({"step time", "95 % interval", "items/s", "first step", "samples"}),
        title=title,
        notes=(*_notes(readings), *fairness_notes(unlike)),
    )


def index_table(readings: Sequence[Reading], plain: bool = False) -> Table:
    """What is kept, by id, each with what it is about; `plain`: bare numbers, in SI units."""
    return Table(
        columns=("id", "started", "case", "metric", "value", "unit", "status", "label")
        if plain
        else ("id", "started", "case", "metric", "value", "status", "label"),
        rows=tuple(
            (
                r.result.id,
                r.result.started[:19].replace("T", " "),
                r.result.case.key,
                *_main(r.summary, plain),
                standing(r),
                r.result.label,
            )
            for r in readings
        ),
        numeric=frozenset({"value"}),
    )


def fairness_notes(unlike: Sequence[Unlikeness]) -> tuple[str, ...]:
    return tuple(f"{'UNFAIR: ' if one.unfair else ''}{one.workload}: {one.text}" for one in unlike)


def _main(summary: Summary, plain: bool) -> tuple[str, ...]:
    """Name and value of the first of MAIN, else of the first that a command or benchmark told."""
    found = summary.quantities
    others = (name for name in found if name not in ALONGSIDE)
    name = next((name for name in MAIN if name in found), next(others, ""))
    quantity = found.get(name)
    if plain:
        return (name, repr(quantity.value), quantity.unit) if quantity else ("", "", "")
    return (name.replace("_", " "), _value(quantity))


def _row(reading: Reading) -> tuple[str, ...]:
    found = reading.summary.quantities
    step, rate = found.get("step_time"), found.get("throughput")
    return (
        reading.result.case.key,
        _value(step),
        f"{human(step.low, step.unit)} – {human(step.high, step.unit)}" if step else "",
        human(rate.value, "") if rate else "",
        _value(found.get("first_step")),
        str(step.n) if step else "",
        reading.result.status,
    )


def _notes(readings: Sequence[Reading]) -> list[str]:
    """What is true of every row is said once, at the end."""
    shared = _shared(readings)
    notes = [note for reading in readings for note in _own_notes(reading, shared)]
    return notes + [f"{doubt.text}. {doubt.remedy}" for doubt in shared]


def _shared(readings: Sequence[Reading]) -> list[Doubt]:
    measured = [r.summary.doubts for r in readings if "step_time" in r.summary.quantities]
    if len(measured) < 2:
        return []
    return [doubt for doubt in measured[0] if all(doubt in others for others in measured)]


def _own_notes(reading: Reading, shared: Sequence[Doubt]) -> list[str]:
    """How it ended; its gravest doubts with the remedy of the first (`show` has all); its tails."""
    result = reading.result
    notes = [f"{result.case.key}: {result.status}: {result.reason}"] if result.reason else []
    own = [doubt for doubt in reading.summary.doubts if doubt not in shared]
    if own:
        texts = "; ".join(doubt.text for doubt in own[:GRAVEST])
        notes.append(f"{result.case.key}: {texts}. {own[0].remedy}")
    tails = [name for name in ("p50", "p90", "p99") if name in reading.summary.quantities]
    if tails:
        parts = (f"{name} {_value(reading.summary.quantities[name])}" for name in tails)
        notes.append(f"{result.case.key}: {', '.join(parts)}")
    return notes


def _value(quantity: Quantity | None) -> str:
    return human(quantity.value, quantity.unit) if quantity else ""
