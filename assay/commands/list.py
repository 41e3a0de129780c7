"""List results, workloads, backends, formats, tasks or benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from assay.cli import options, printing
from assay.cli.command import click_command
from assay.cli.printing import show_table
from assay.core.errors import UsageError
from assay.core.findings import Output, Quantity, SummarizedResult, Table
from assay.core.options import (
    Argument,
    BackendFilter,
    Flag,
    LabelFilter,
    Since,
    StoreUrl,
    Tags,
    Until,
    WorkloadFilter,
)
from assay.core.options import Format as FormatFlag
from assay.core.records import SCHEMA, Query
from assay.reporting.accuracy import status_text
from assay.reporting.timings import value

if TYPE_CHECKING:
    from assay.core.contracts import Backend, Workload
    from assay.core.formats import Format


MAIN = ("step_time", "accuracy")  # what a result is about, if it has one of these
SECONDARY = {"open_time", "first_step", "total_time"}  # of every result, whatever it is about


def output(readings: Sequence[SummarizedResult], more: int = 0) -> Output:
    """`more`: number of matching results that are not shown."""
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


def index_table(readings: Sequence[SummarizedResult], more: int = 0) -> Table:
    """One row per result, with its main metric."""
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
        notes=(f"{more} older ones are not shown; --limit 0 shows all",) if more else (),
        spare=("started", "label", "metric"),
    )


def _main(reading: SummarizedResult) -> tuple[str, Quantity | None]:
    """The first of MAIN, else the first that a command or benchmark reported."""
    quantities, reported = reading.summary.quantities, reading.result.reported_metrics
    others = (name for name in quantities if name not in SECONDARY or name in reported)
    name = next((name for name in MAIN if name in quantities), next(others, ""))
    return name, quantities.get(name)


def _main_text(reading: SummarizedResult) -> tuple[str, str]:
    name, quantity = _main(reading)
    return name.replace("_", " "), value(quantity)


def _plain(reading: SummarizedResult) -> dict[str, str | float | None]:
    name, quantity = _main(reading)
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


@click_command(
    epilog="""\b
Examples:
  assay list workloads
  assay list results --label nightly --limit 20 --format json
  assay list tasks --file tasks.toml
  assay list benchmarks my_pkg"""
)
def command(
    what: Annotated[
        Literal["workloads", "backends", "formats", "results", "tasks", "benchmarks"], Argument()
    ],
    packages: Annotated[tuple[str, ...], Argument("[PACKAGE…]")],
    *,
    workload: WorkloadFilter = "",
    backend: BackendFilter = "",
    label: LabelFilter = "",
    status: Annotated[str, Flag("Only results with this status: ok, failed, timeout, …")] = "",
    since: Since = "",
    until: Until = "",
    machine: Annotated[str, Flag("Only results of this host or processor.")] = "",
    file: Annotated[
        str,
        Flag("Task file; default: tasks.toml or task_config_template.cfg in this folder."),
    ] = "",
    python: Annotated[str, Flag("Virtual environment to look for benchmarks in.")] = "",
    tags: Tags = None,
    limit: Annotated[int, Flag("Show only the newest N; 0 shows all.", min=0)] = 50,
    store: StoreUrl = None,
    format: FormatFlag = "text",
) -> int:
    """List workloads, backends, file formats, results or tasks; or the benchmarks of PACKAGE…"""
    if (what == "benchmarks") != bool(packages):
        raise UsageError(
            f"{what} were given with {' '.join(packages) or 'no package'}.",
            hint="As in: assay list benchmarks my_pkg; other lists take no package.",
        )
    if packages:
        return _benchmarks(packages, python, format)
    if what == "tasks":
        return _tasks(file, format)
    if what == "results":
        query = Query(
            workload=workload,
            backend=backend,
            label=label,
            status=status,
            since=since,
            until=until,
            machine=machine,
            tags=tags or {},
        )
        return _results(query, limit, store, format)
    return _print_plugins(what, format)


def _results(query: Query, limit: int, store: StoreUrl, format: str) -> int:
    from assay.stores import read  # the other lists need no store

    newest = read.read_newest(query, limit, store, lambda line: options.print_message(line))
    printing.show(output(newest.readings, newest.more), format)
    return 0


def _print_plugins(kind: str, format: str) -> int:
    from assay.core import registry  # which loads all of the kind

    tables: dict[str, Callable[[Any], Table]]
    tables = {"workloads": _workloads, "backends": _backends, "formats": _formats}
    plugins, problems = registry.all_plugins(kind)  # type: ignore[arg-type]
    show_table(tables[kind](plugins), format, in_file=printing.READABLE)
    options.print_message(*(f"note: {problem}" for problem in problems))
    return 0


def _tasks(file: str, format: str) -> int:
    from assay.commands.task import api as tasking

    rows = tuple(
        (
            name,
            task.description
            or (task.command if isinstance(task.command, str) else " ".join(task.command))
            or "a metric policy, without a command",
            ", ".join(metric.name for metric in task.metrics),
        )
        for name, task in tasking.tasks(file).items()
    )
    show_table(Table(columns=("task", "what it runs", "metrics"), rows=rows), format)
    return 0


def _benchmarks(packages: tuple[str, ...], python: str, format: str) -> int:
    from assay.commands.bench import api

    benchmarks = api.benchmarks(*packages, python=python)
    rows = tuple(sorted(benchmarks.names.items()))
    show_table(Table(columns=("benchmark", "what it is"), rows=rows), format)
    options.print_message(
        *(f"note: {name} was skipped: {why}" for name, why in benchmarks.problems.items())
    )
    return 0 if rows else 1


def _workloads(workloads: Mapping[str, Workload]) -> Table:
    return Table(
        columns=("workload", "what it is", "parameters", "where it comes from"),
        rows=tuple(
            (
                name,
                workload.summary,
                ", ".join(f"{key}={value}" for key, value in workload.params.items()),
                workload.source,
            )
            for name, workload in workloads.items()
        ),
    )


def _backends(backends: Mapping[str, Backend]) -> Table:
    return Table(
        columns=("backend", "what it is", "options", "here"),
        rows=tuple(
            (name, backend.summary, ", ".join(backend.options), backend.missing() or "usable")
            for name, backend in backends.items()
        ),
    )


def _formats(formats: Mapping[str, Format]) -> Table:
    return Table(
        columns=("format", "what it is", "import", "export"),
        rows=tuple(
            (name, format.summary, "yes" if format.read else "", "yes" if format.write else "")
            for name, format in formats.items()
        ),
    )
