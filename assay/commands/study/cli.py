"""assay study: a matrix of options, measured fairly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, NamedTuple

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import handle_signals, print_saved, print_uploads, status, unfair_sentences
from assay.cli.progress import ProgressLine
from assay.commands.study import api
from assay.core import units
from assay.core.errors import UsageError
from assay.core.findings import SummarizedResult
from assay.core.options import Flag, Format, Strict
from assay.core.records import Result


class Shown(NamedTuple):
    """Which study is shown, from which store, in which format."""

    name: str
    store: str | None
    format: str


@click_command(
    api.study,
    without=("store",),
    epilog="""\b
Examples:
  assay study vgg16 --size small --budget 1m
  assay study vgg16 --bn --budget 10m -b torch,jax,keras-torch,keras-jax
  assay study vgg16 --option precision=bfloat16 --format markdown > vgg16.md
  assay study mnist-mlp --over precision=float32,bfloat16 --over compiler=off,on
  assay study ./my.py:MyNet -b torch --over batch_size=8,32 --budget 2m
  assay study vgg16 --resume last""",
)
def command(
    name: str,
    keywords: Keywords,
    *,
    bn: Annotated[bool, Flag("Also measure the variants with batch norm.")] = False,
    strict: Strict = False,
    resume: Annotated[str, Flag("Continue an interrupted study.", "RUN", complete="runs")] = "",
    store: str | None,
    format: Format = "text",
) -> int:
    """Measure the study NAME: every backend, over its options, and what each option gains.

    With --over, NAME is any workload or own model. A study measures every combination and shows
    them all; assay race takes the same --over, drops what is slower and finds the fastest.

    Opening and compiling come on top of the budget. What cannot run here is listed with the reason.
    """
    handle_signals()
    shown = Shown(name, store, format)
    keywords |= {"extras": ["bn"] if bn else []}
    run = _resume(shown, resume) if resume else _begin(shown, keywords)
    request, readings = api.load_study(run, store)
    unfair = unfair_sentences(readings) if strict else []
    if not unfair:
        _print(request, readings, format)
    options.print_message(*unfair)
    print_saved(run)
    print_uploads(run, store)
    return 1 if unfair else status(readings)


def show(run: str, home: str | None, form: str) -> None:
    """A study that was made before, as far as it came."""
    request, readings = api.load_study(run, home)
    if not readings:
        raise UsageError(
            f"{run} has no result yet.", hint=f"assay study {request.name} --resume {run}"
        )
    _print(request, readings, form)


def _begin(shown: Shown, keywords: Keywords) -> str:
    request = api.request(**keywords)
    sampling = units.human(request.plan.procedure.budget * request.visits, "s")
    options.print_message(
        f"{len(request.plan.cases)} cases, at most {request.visits} processes and {sampling} of "
        "sampling; opening and compiling come on top"
    )
    line = ProgressLine()
    results = api.begin_study(request, shown.store, line)
    return _print_progress(results, line, shown, f" of at most {request.visits}")


def _resume(shown: Shown, resume: str) -> str:
    request, readings = api.load_study(resume, shown.store)
    if request.name != shown.name:
        raise UsageError(
            f"Run {resume} is a study of {request.name}, not of {shown.name}.",
            hint=f"assay study {request.name} --resume {resume}",
        )
    line = ProgressLine()
    results = api.resume(resume, shown.store, line)
    known = readings[0].result.run if readings else resume
    return _print_progress(results, line, shown, " more") or known


def _print_progress(results: Iterator[Result], line: ProgressLine, shown: Shown, more: str) -> str:
    """Tells each visit as it ends, and what is known when it is cut short; the run, if any."""
    run = ""
    try:
        for count, result in enumerate(results, 1):
            run = result.run
            line.done(result, f"{count}{more}")
        line.clear()
    except KeyboardInterrupt:
        if run:
            show(run, shown.store, shown.format)
            print_saved(run, f"study {shown.name}")
        raise
    return run


def _print(request: api.StudyRequest, readings: list[SummarizedResult], form: str) -> None:
    from assay.commands.study.view import output

    summary = api.findings(readings)
    printing.show(output(request.name, request.study, readings, summary), form)
