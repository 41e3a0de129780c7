"""Lists of runs and of results, as tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from assay.core.findings import Output, Quantity, SummarizedResult, Table
from assay.core.records import SCHEMA
from assay.reporting.accuracy import status_text
from assay.reporting.timings import value

if TYPE_CHECKING:
    from assay.commands.list.api import RunLine

_STAMPED = re.compile(r"\d{8}-\d{6}-\w{4}$")
MAIN = ("step_time", "accuracy")  # what a result is about, if it has one of these
SECONDARY = {"open_time", "first_step", "total_time"}  # of every result, whatever it is about


def runs_output(lines: Sequence[RunLine], more: int = 0) -> Output:
    columns = ("run", "started", "command", "cases", "result", "machine", "label")
    names = _short_names([line.run for line in lines])
    rows = tuple(_run_values(line) for line in lines)
    machines = {line.machine for line in lines} - {""}
    notes = (f"{more} older runs are not shown; --limit 0 shows all",) if more else ()
    if not rows:
        notes = ("nothing has been measured yet; to begin: assay run mnist-mlp",)
    return Output(
        tables=(
            Table(
                columns=columns,
                rows=tuple(_run_row(line, names[line.run]) for line in lines),
                notes=(*notes, *(f"all on {name}" for name in machines if len(machines) == 1)),
                spare=("label", *(["machine"] if len(machines) < 2 else [])),
                shortened=frozenset({"machine"}),
            ),
        ),
        document={
            "schema": SCHEMA,
            "kind": "runs",
            "runs": [msgspec.to_builtins(line) for line in lines],
            "more": more,
        },
        values=Table(columns=columns, rows=rows),
    )


def _run_values(line: RunLine) -> tuple[str, ...]:
    started = line.started[:16].replace("T", " ")
    return (
        *(line.run, started, line.verb, line.request),
        *(line.headline, line.machine, line.label),
    )


def _run_row(line: RunLine, name: str) -> tuple[str, ...]:
    """With a short name, and a headline that is not too long."""
    return _run_values(msgspec.structs.replace(line, run=name, headline=line.short_headline))


def _short_names(runs: Sequence[str]) -> dict[str, str]:
    """Run → its ending, which every command takes, unless two of these runs share it."""
    endings = Counter(run.rpartition("-")[2] for run in runs)
    return {
        run: ending if _STAMPED.match(run) and endings[ending] == 1 else run
        for run in runs
        for ending in [run.rpartition("-")[2]]
    }


def results_output(readings: Sequence[SummarizedResult], more: int = 0, hidden: int = 0) -> Output:
    """`more`: number of older results that are not shown; `hidden`: of processes of comparisons."""
    rows = [_plain(reading) for reading in readings]
    columns = ("id", "started", "case", "metric", "value", "unit", "status", "label")
    return Output(
        tables=(index_table(readings, more, hidden),),
        document={"schema": SCHEMA, "kind": "table", "rows": rows, "more": more, "hidden": hidden},
        values=Table(
            columns=columns,
            rows=tuple(tuple(_text(row[column]) for column in columns) for row in rows),
        ),
    )


def index_table(readings: Sequence[SummarizedResult], more: int = 0, hidden: int = 0) -> Table:
    """One row per result, with its main metric."""
    notes = [f"{more} older ones are not shown; --limit 0 shows all"] if more else []
    if hidden:
        notes.append(f"{hidden} of an ab, race or bisect are not shown; --all shows them")
    return Table(
        columns=("id", "started", "case", "metric", "value", "status", "label"),
        rows=tuple(
            (
                r.result.id,
                r.result.started[:19].replace("T", " "),
                r.result.case.key,
                *_main_text(r),
                status_text(r),
                r.result.label,
            )
            for r in readings
        ),
        numeric=frozenset({"value"}),
        notes=tuple(notes),
        spare=("started", "label", "metric"),
    )


def _main_text(reading: SummarizedResult) -> tuple[str, str]:
    name, quantity = main_quantity(reading)
    return name.replace("_", " "), value(quantity)


def _plain(reading: SummarizedResult) -> dict[str, str | float | None]:
    name, quantity = main_quantity(reading)
    result = reading.result
    return {
        "id": result.id,
        "started": result.started[:19].replace("T", " "),
        "case": result.case.key,
        "metric": name,
        "value": quantity.value if quantity else None,
        "unit": quantity.unit if quantity else "",
        "status": status_text(reading),
        "label": result.label,
    }


def _text(value: str | float | None) -> str:
    return "" if value is None else value if isinstance(value, str) else repr(value)


def main_quantity(reading: SummarizedResult) -> tuple[str, Quantity | None]:
    """The first of MAIN, else the first that a command or benchmark reported."""
    quantities, reported = reading.summary.quantities, reading.result.reported_metrics
    others = (name for name in quantities if name not in SECONDARY or name in reported)
    name = next((name for name in MAIN if name in quantities), next(others, ""))
    return name, quantities.get(name)
