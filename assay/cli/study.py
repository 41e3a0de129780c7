"""assay study: a matrix of options, measured fairly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from assay import codec, studying, units
from assay.cli import options
from assay.cli.ending import heed_signals
from assay.cli.output import print_table
from assay.cli.progress import LiveLine
from assay.cli.run import status, unfair_sentences
from assay.errors import UsageError
from assay.findings import Reading
from assay.records import Result


@click.command(
    epilog="""\b
Examples:
  assay study vgg16 --size small --budget 1m
  assay study vgg16 --bn --budget 10m -b torch,jax,keras-torch,keras-jax
  assay study vgg16 --option precision=bfloat16 --format markdown > vgg16.md
  assay study vgg16 --resume last"""
)
@click.argument("name")
@click.option("--bn", is_flag=True, help="Also with batch norm, of each kind.")
@click.option("-b", "--backend", "backends", multiple=True, help="May be repeated; commas too.")
@click.option("--size", default="", metavar="NAME", help="full or small.")
@click.option(
    "--option", "extra", multiple=True, metavar="NAME=VALUE", help="Of the backends, for all cases."
)
@click.option(
    "--budget", default="10m", show_default=True, help="Sampling time, shared by all cases."
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=studying.ROUNDS,
    show_default=True,
    help="Fresh processes for each case.",
)
@click.option("--timeout", default="10m", show_default=True, help="For one process.")
@click.option("--strict", is_flag=True, help="Refuse contenders that do not do the same work.")
@click.option("--label", default="", help="A name to find these results by.")
@click.option("--resume", metavar="RUN", help="Go on with a study that was cut short, or show it.")
@options.home
@options.form
def command(name: str, resume: str | None, **given: Any) -> int:  # noqa: ANN401 (click's values)
    """Measure the study NAME: every backend, over its options, and what each option bought.

    Opening and compiling come on top of the budget. What cannot run here is said in words.
    """
    heed_signals()
    run = _resumed(name, resume, given) if resume else _begun(name, given)
    asked, readings = studying.kept(run, given["home"])
    unfair = unfair_sentences(readings) if given["strict"] else []
    if not unfair:
        _print(asked, readings, given["form"])
    options.say(*unfair, f"kept as {run}; to see it again: assay study {name} --resume {run}")
    return 1 if unfair else status(readings)


def show(run: str, home: str | None, form: str) -> None:
    """A study that was made before, as far as it came."""
    asked, readings = studying.kept(run, home)
    _print(asked, readings, form)


def _begun(name: str, given: dict[str, Any]) -> str:
    asked = studying.ask(
        name,
        extras=["bn"] if given["bn"] else [],
        backends=[each for text in given["backends"] for each in options.values(text)],
        size=given["size"],
        options=options.pairs(given["extra"], "--option"),
        budget=units.seconds(given["budget"]),
        rounds=given["rounds"],
        timeout=units.seconds(given["timeout"]),
        label=given["label"],
    )
    sampling = units.human(asked.plan.procedure.budget * asked.visits, "s")
    options.say(
        f"{len(asked.plan.cases)} cases, at most {asked.visits} processes and {sampling} of "
        "sampling; opening and compiling come on top"
    )
    line = LiveLine()
    results = studying.begin(asked, given["home"], line)
    return _followed(results, line, name, given, f" of at most {asked.visits}")


def _resumed(name: str, resume: str, given: dict[str, Any]) -> str:
    asked, readings = studying.kept(resume, given["home"])
    if asked.name != name:
        raise UsageError(
            f"Run {resume} is a study of {asked.name}, not of {name}.",
            hint=f"assay study {asked.name} --resume {resume}",
        )
    line = LiveLine()
    results = studying.resume(resume, given["home"], line)
    known = readings[0].result.run if readings else resume
    return _followed(results, line, name, given, " more") or known


def _followed(
    results: Iterator[Result], line: LiveLine, name: str, given: dict[str, Any], more: str
) -> str:
    """Tells each visit as it ends, and what is known when it is cut short; the run, if any."""
    run = ""
    try:
        for count, result in enumerate(results, 1):
            run = result.run
            line.done(result, f"{count}{more}")
    except KeyboardInterrupt:
        if run:
            show(run, given["home"], given["form"])
            options.say(f"kept as {run}; to go on: assay study {name} --resume {run}")
        raise
    return run


def _print(asked: studying.Asked, readings: list[Reading], form: str) -> None:
    from assay.views import documents, render, studies

    found = studying.findings(readings)
    if form == "json":
        document = documents.results_document(readings, found.unlike)
        told = studies.study_document(asked.name, found)
        click.echo(codec.encode(document | told, indent=2))
    elif form == "csv":
        click.echo(render.comma_separated(documents.results_values(readings)))
    else:
        tables = studies.study_tables(asked.study, readings, found.floor, found.unlike)
        for number, table in enumerate([*tables, *filter(None, [found.bought])]):
            if number:
                click.echo()
            print_table(table, form)
