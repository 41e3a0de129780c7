"""What is kept, by id → a table for people, and rows of plain numbers for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from assay.cli import options, printing
from assay.cli.printing import show_table
from assay.core.errors import UsageError
from assay.core.findings import Output, Quantity, Reading, Table
from assay.core.records import SCHEMA
from assay.reporting.accuracy import standing
from assay.reporting.timings import value

if TYPE_CHECKING:
    from assay.core.contracts import Backend, Workload
    from assay.core.formats import Format


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


@click.command(
    epilog="""\b
Examples:
  assay list workloads
  assay list results --label nightly --limit 20 --format json
  assay list tasks --file tasks.toml
  assay list benchmarks my_pkg"""
)
@click.argument(
    "what",
    type=click.Choice(["workloads", "backends", "formats", "results", "tasks", "benchmarks"]),
)
@click.argument("packages", nargs=-1, metavar="[PACKAGE…]")
@click.option("--workload", default="", help="Only results of this workload.")
@click.option("--backend", default="", help="Only results of this backend.")
@click.option("--label", default="", help="Only results with this label.")
@click.option("--status", default="", help="Only results with this status: ok, failed, timeout, …")
@click.option("--since", default="", metavar="DATE", help="Only results from this day on.")
@click.option("--until", default="", metavar="DATE", help="Only results up to this day.")
@click.option("--machine", default="", help="Only results of this host or processor.")
@click.option(
    "--file",
    default="",
    help="Task file; default: tasks.toml or task_config_template.cfg in this folder.",
)
@click.option("--python", default="", help="Virtual environment to look for benchmarks in.")
@options.tag
@click.option(
    "--limit",
    type=click.IntRange(0),
    default=50,
    show_default=True,
    help="Show only the newest N; 0 shows all.",
)
@options.home
@options.form
def command(
    what: str,
    packages: tuple[str, ...],
    file: str,
    python: str,
    home: str | None,
    form: str,
    tags: tuple[str, ...],
    **given: str | int,
) -> int:
    """Show what there is: workloads, backends, formats of files, results, tasks; or the benchmarks
    of PACKAGE…"""
    if (what == "benchmarks") != bool(packages):
        raise UsageError(
            f"{what} were given with {' '.join(packages) or 'no package'}.",
            hint="As in: assay list benchmarks my_pkg; other lists take no package.",
        )
    if packages:
        return _benchmarks(packages, python, form)
    if what == "tasks":
        return _tasks(file, form)
    if what == "results":
        return _results(options.pairs(tags, "--tag"), given, home, form)
    return _registered(what, form)


def _results(
    tags: Mapping[str, str], given: dict[str, str | int], home: str | None, form: str
) -> int:
    from assay.core.records import Query
    from assay.stores import read  # the other lists need no store

    limit = int(given.pop("limit"))
    query = Query(tags=tags, **given)  # type: ignore[arg-type]
    kept = read.newest(query, limit, home, lambda line: options.say(line))
    printing.show(output(kept.readings, kept.more), form)
    return 0


def _registered(kind: str, form: str) -> int:
    from assay.core import registry  # which loads all of the kind

    tables: dict[str, Callable[[Any], Table]]
    tables = {"workloads": _workloads, "backends": _backends, "formats": _formats}
    found, problems = registry.everything(kind)  # type: ignore[arg-type]
    show_table(tables[kind](found), form, in_file=printing.READABLE)
    options.say(*(f"note: {problem}" for problem in problems))
    return 0


def _tasks(file: str, form: str) -> int:
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
    show_table(Table(columns=("task", "what it runs", "metrics"), rows=rows), form)
    return 0


def _benchmarks(packages: tuple[str, ...], python: str, form: str) -> int:
    from assay.commands.bench import api

    found = api.benchmarks(*packages, python=python)
    rows = tuple(sorted(found.names.items()))
    show_table(Table(columns=("benchmark", "what it is"), rows=rows), form)
    options.say(*(f"note: {name} was passed over: {why}" for name, why in found.problems.items()))
    return 0 if rows else 1


def _workloads(found: Mapping[str, Workload]) -> Table:
    return Table(
        columns=("workload", "what it is", "parameters", "where it comes from"),
        rows=tuple(
            (
                name,
                thing.summary,
                ", ".join(f"{key}={value}" for key, value in thing.params.items()),
                thing.source,
            )
            for name, thing in found.items()
        ),
    )


def _backends(found: Mapping[str, Backend]) -> Table:
    return Table(
        columns=("backend", "what it is", "options", "here"),
        rows=tuple(
            (name, thing.summary, ", ".join(thing.options), thing.missing() or "usable")
            for name, thing in found.items()
        ),
    )


def _formats(found: Mapping[str, Format]) -> Table:
    return Table(
        columns=("format", "what it is", "import", "export"),
        rows=tuple(
            (name, thing.summary, "yes" if thing.read else "", "yes" if thing.write else "")
            for name, thing in found.items()
        ),
    )
