"""What is kept, by id → a table for people, and rows of plain numbers for programs."""

from __future__ import annotations

from collections.abc import Sequence

from assay.core.findings import Output, Quantity, Reading, Table
from assay.core.records import SCHEMA
from assay.reporting.accuracy import standing
from assay.reporting.timings import value

MAIN = ("step_time", "accuracy")  # what a result is about, if it has one of these
ALONGSIDE = {"open_time", "first_step", "total_time"}  # of every result, whatever it is about


def output(readings: Sequence[Reading], more: int = 0) -> Output:
    """`more`: results that were found, but left out."""
    rows = [_plain(reading) for reading in readings]
    columns = ("id", "started", "case", "metric", "value", "unit", "status", "label")
    return Output(
        tables=(index_table(readings, more),),
        document={"schema": SCHEMA, "kind": "table", "rows": rows, "more": more},
        values=Table(
            columns=columns,
            rows=tuple(tuple(_text(row[column]) for column in columns) for row in rows),
        ),
    )


def index_table(readings: Sequence[Reading], more: int = 0) -> Table:
    """Each with what it is about."""
    return Table(
        columns=("id", "started", "case", "metric", "value", "status", "label"),
        rows=tuple(
            (
                r.result.id,
                r.result.started[:19].replace("T", " "),
                r.result.case.key,
                *_main_text(r),
                standing(r),
                r.result.label,
            )
            for r in readings
        ),
        numeric=frozenset({"value"}),
        notes=(f"{more} older ones are not shown; --limit 0 shows all",) if more else (),
        spare=("started", "label", "metric"),
    )


def _main(reading: Reading) -> tuple[str, Quantity | None]:
    """The first of MAIN, else the first that a command or benchmark reported."""
    found, reported = reading.summary.quantities, reading.result.reported
    others = (name for name in found if name not in ALONGSIDE or name in reported)
    name = next((name for name in MAIN if name in found), next(others, ""))
    return name, found.get(name)


def _main_text(reading: Reading) -> tuple[str, str]:
    name, quantity = _main(reading)
    return name.replace("_", " "), value(quantity)


def _plain(reading: Reading) -> dict[str, str | float | None]:
    name, quantity = _main(reading)
    result = reading.result
    return {
        "id": result.id,
        "started": result.started[:19].replace("T", " "),
        "case": result.case.key,
        "metric": name,
        "value": quantity.value if quantity else None,
        "unit": quantity.unit if quantity else "",
        "status": standing(reading),
        "label": result.label,
    }


def _text(value: str | float | None) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)
