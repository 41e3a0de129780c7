"""assay list: runs, results, workloads, backends, formats, tasks or benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, Literal

from assay.cli import options, printing
from assay.cli.command import click_command
from assay.cli.printing import show_table
from assay.commands.list import view
from assay.core.errors import UsageError
from assay.core.findings import Table
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
from assay.core.records import Query

BATCH = 500  # results that one query names

if TYPE_CHECKING:
    from assay.core.contracts import Backend, Workload
    from assay.core.formats import Format


@click_command(
    epilog="""\b
Examples:
  assay list                                 runs: what was measured, and its verdict
  assay list --since 2026-11-01 --limit 20
  assay list workloads
  assay list results --label nightly --limit 20 --format json
  assay list tasks --file tasks.toml
  assay list benchmarks my_pkg"""
)
def command(
    what: Annotated[
        Literal["runs", "results", "workloads", "backends", "formats", "tasks", "benchmarks"],
        Argument(),
    ] = "runs",
    packages: Annotated[tuple[str, ...], Argument("[PACKAGE…]")] = (),
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
    all: Annotated[
        bool, Flag("With results: those of an ab, race or bisect too, of which each is a process.")
    ] = False,
    store: StoreUrl = None,
    format: FormatFlag = "text",
) -> int:
    """List runs with their verdicts, or results, workloads, backends, file formats, tasks, or the
    benchmarks of PACKAGE…
    """
    if (what == "benchmarks") != bool(packages):
        raise UsageError(
            f"{what} were given with {' '.join(packages) or 'no package'}.",
            hint="As in: assay list benchmarks my_pkg; other lists take no package.",
        )
    if packages:
        return _benchmarks(packages, python, format)
    if what == "tasks":
        return _tasks(file, format)
    if what in ("runs", "results"):
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
        show_stored = _runs if what == "runs" else _all_results if all else _results
        return show_stored(query, limit, store, format)
    return _print_plugins(what, format)


def _runs(query: Query, limit: int, store: StoreUrl, format: str) -> int:
    from assay.commands.list.api import list_runs
    from assay.core.registry import open_store

    with closing(open_store(store)) as opened:
        lines, more = list_runs(opened, query, limit)
        options.print_message(*dict.fromkeys(opened.problems))
    printing.show(view.runs_output(lines, more), format)
    return 0


def _results(query: Query, limit: int, store: StoreUrl, format: str) -> int:
    """Without the processes of an ab, race or bisect."""
    from assay.commands.list.api import is_part_of_comparison
    from assay.core.registry import open_store
    from assay.stores.read import summarize_results

    with closing(open_store(store)) as opened:
        entries = opened.entries(query)
        ids = [entry.id for entry in entries if not is_part_of_comparison(entry)]
        newest = ids[-limit:] if limit else ids
        readings = [
            reading
            for first in range(0, len(newest), BATCH)
            for reading in summarize_results(opened, Query(ids=newest[first : first + BATCH]))
        ]
        options.print_message(*dict.fromkeys(opened.problems))
    shown = view.results_output(readings, len(ids) - len(newest), len(entries) - len(ids))
    printing.show(shown, format)
    return 0


def _all_results(query: Query, limit: int, store: StoreUrl, format: str) -> int:
    from assay.stores import read

    newest = read.read_newest(query, limit, store, lambda line: options.print_message(line))
    printing.show(view.results_output(newest.readings, newest.more), format)
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
