"""assay study: a matrix of options, measured fairly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from assay.cli import complete, options, printing
from assay.cli.finish import handle_signals, say_kept, say_uploads, status, unfair_sentences
from assay.cli.progress import LiveLine
from assay.commands.study import api
from assay.core import units
from assay.core.errors import UsageError
from assay.core.findings import Reading
from assay.core.records import Result


@click.command(
    epilog="""\b
Examples:
  assay study vgg16 --size small --budget 1m
  assay study vgg16 --bn --budget 10m -b torch,jax,keras-torch,keras-jax
  assay study vgg16 --option precision=bfloat16 --format markdown > vgg16.md
  assay study vgg16 --resume last"""
)
@click.argument("name", shell_complete=complete.studies)
@click.option("--bn", is_flag=True, help="Also measure the variants with batch norm.")
@options.backends
@click.option("--size", default="", metavar="NAME", help="Size of the workload: full or small.")
@click.option(
    "--option", "extra", multiple=True, metavar="NAME=VALUE", help="Backend option for all cases."
)
@click.option(
    "--budget", default="10m", show_default=True, help="Sampling time, shared by all cases."
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=api.ROUNDS,
    show_default=True,
    help="Fresh processes per case.",
)
@options.timeout("10m", "one process")
@options.cold
@options.trust
@options.strict
@options.label
@options.resume("Continue an interrupted study.")
@options.home
@options.form
def command(name: str, resume: str | None, **given: Any) -> int:
    """Measure the study NAME: every backend, over its options, and what each option gains.

    Opening and compiling come on top of the budget. What cannot run here is listed with the reason.
    """
    handle_signals()
    run = _resumed(name, resume, given) if resume else _begun(name, given)
    request, readings = api.kept(run, given["home"])
    unfair = unfair_sentences(readings) if given["strict"] else []
    if not unfair:
        _print(request, readings, given["form"])
    options.say(*unfair)
    say_kept(run)
    say_uploads(run, given["home"])
    return 1 if unfair else status(readings)


def show(run: str, home: str | None, form: str) -> None:
    """A study that was made before, as far as it came."""
    request, readings = api.kept(run, home)
    if not readings:
        raise UsageError(
            f"{run} has no result yet.", hint=f"assay study {request.name} --resume {run}"
        )
    _print(request, readings, form)


def _begun(name: str, given: dict[str, Any]) -> str:
    request = api.request(
        name,
        extras=["bn"] if given["bn"] else [],
        backends=options.several(given["backends"]),
        size=given["size"],
        options=options.pairs(given["extra"], "--option"),
        **{name: given[name] for name in ("budget", "rounds", "timeout", "cold", "trust")},
        label=given["label"],
    )
    sampling = units.human(request.plan.procedure.budget * request.visits, "s")
    options.say(
        f"{len(request.plan.cases)} cases, at most {request.visits} processes and {sampling} of "
        "sampling; opening and compiling come on top"
    )
    line = LiveLine()
    results = api.begin(request, given["home"], line)
    return _followed(results, line, name, given, f" of at most {request.visits}")


def _resumed(name: str, resume: str, given: dict[str, Any]) -> str:
    request, readings = api.kept(resume, given["home"])
    if request.name != name:
        raise UsageError(
            f"Run {resume} is a study of {request.name}, not of {name}.",
            hint=f"assay study {request.name} --resume {resume}",
        )
    line = LiveLine()
    results = api.resume(resume, given["home"], line)
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
            say_kept(run, f"study {name}")
        raise
    return run


def _print(request: api.StudyRequest, readings: list[Reading], form: str) -> None:
    from assay.commands.study.view import output

    found = api.findings(readings)
    printing.show(output(request.name, request.study, readings, found), form)
