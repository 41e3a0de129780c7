"""assay run: measure."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command, typed_flags
from assay.cli.finish import handle_signals, show_when_done, status, unfair_sentences
from assay.cli.progress import ProgressLine
from assay.commands.run import api
from assay.core.errors import UsageError
from assay.core.findings import SummarizedResult
from assay.core.options import Argument, Columns, Flag, Format, Strict
from assay.core.records import Query
from assay.core.registry import open_store
from assay.measure.plan import describe_left_out
from assay.measure.recorder import resume_cases
from assay.measure.remote import executor
from assay.reporting.timings import check_columns


@click_command(
    api.run,
    epilog="""\b
Examples:
  assay run mnist-mlp                                every backend installed
  assay run mnist-mlp -b keras-jax --batch-size 32 --budget 10s --label first-try
  assay run mnist-mlp@keras-jax:precision=bfloat16 --set units=512,1024
  assay run mnist-mlp@torch --quick                  a rough answer in ten seconds
  assay run mnist-mlp@keras-jax --processes 5 --target 1%
  assay run ./my.py:MyNet -b keras-jax --mode infer --latency
  assay run transformer-decoder -b torch,jax --task generate --set prompt=32,512
  assay run --suite keras-benchmarks -b keras-jax,keras-torch
  assay run --suite accuracy --first 500
  assay run mnist-mlp -b torch --in assay/torch:2.13
  assay run --suite keras-benchmarks --on ray://HOST:10001
  assay run resnet50@torch --on ray --need gpus=1,accelerator=H100
  assay run --plan plan.toml --every night
  assay run --resume last""",
)
def command(
    cases: Annotated[tuple[str, ...], Argument("CASE…", complete="cases")],
    keywords: Keywords,
    *,
    suite: str,
    device: list[str],
    on: str,
    need: dict[str, str],
    store: str | None,
    plan: Annotated[
        str,
        Flag("Run a plan file (cases, procedure, checks, alerts).", "FILE"),
    ] = "",
    every: Annotated[
        str,
        Flag(
            "Expected schedule of --plan; a missed run is reported.",
            "hour|night|week",
        ),
    ] = "",
    image: Annotated[str, Flag("Measure inside a container image.", "IMAGE", flags="--in")] = "",
    mounts: Annotated[
        Sequence[str],
        Flag(
            "With --in: mount a folder into the container; repeatable.",
            "FOLDER:PLACE[:ro]",
            flags="--mount",
        ),
    ] = (),
    strict: Strict = False,
    resume: Annotated[str, Flag("Continue an interrupted run.", "RUN", complete="runs")] = "",
    columns: Columns = (),
    format: Format = "text",
) -> int:
    """Measure CASE… and store the results.

    A case is WORKLOAD[:k=v,…][@BACKEND[:k=v,…]]. Without a backend, every installed one that can
    open the workload is used. A flag with several values, a,b, makes a sweep.
    """
    if image:
        return _in_image(image, mounts, any("gpu" in name for name in device), store)
    if plan:
        check_exclusive((*cases, *filter(None, (resume,))))
        return _run_plan(plan, every, store, format)
    line = ProgressLine()
    check_columns(columns)
    check_cases(cases, suite, resume)
    results = (
        resume_cases(resume, "run", store, line, executor(on, need))
        if resume
        else api.run(*cases, **keywords, progress=line).stream
    )
    if left_out := describe_left_out(cases, keywords["backends"], keywords["mode"]):
        options.print_message(f"note: {left_out}")
    with show_when_done(line, "run", store, format, columns, strict) as readings:
        for reading in results:
            line.done(reading.result)
            readings.append(reading)
    if keywords["quick"] and readings:
        _print_left_out(readings, store)
    if resume and not readings:
        options.print_message(f"Nothing was left to measure; to see it: assay show {resume}")
    return 1 if strict and unfair_sentences(readings) else status(readings)


def _print_left_out(readings: Sequence[SummarizedResult], store: str | None) -> None:
    """Which cases a quick run had no time for."""
    with closing(open_store(store)) as opened:
        cases = opened.plan(readings[0].result.run).cases
    done = {reading.result.case.key for reading in readings}
    if left := [case.key for case in cases if case.key not in done]:
        options.print_message(
            f"note: {len(left)} of {len(cases)} cases did not fit into 10 s: "
            f"{', '.join(left[:3])}{' …' if len(left) > 3 else ''}; without --quick all are run"
        )


def check_cases(cases: Sequence[str], suite: str, resume: str) -> None:
    """Cases, a suite or a run to continue, and not two of them."""
    if resume and (cases or suite):
        raise UsageError(
            f"--resume was given with {' '.join(cases) or suite}.",
            hint="A run has its own cases; name none.",
        )
    if not (cases or suite or resume):
        raise UsageError("No case was given.", hint="Try: assay run mnist-mlp")


def check_exclusive(more: Sequence[str]) -> None:
    """Reject other options beside --plan: they would be ignored."""
    typed = (*more, *typed_flags(but=("plan", "every", "store", "format", "resume")))
    if typed:
        raise UsageError(
            f"--plan was given with {' '.join(typed)}.",
            hint="What is measured, and how, is in the plan file.",
        )


def _in_image(image: str, mounts: Sequence[str], gpus: bool, store: str | None) -> int:
    """Run the same command line in the container, with this store mounted."""
    from assay.commands.image import run_image

    words = sys.argv[1:]
    inner, skip = ["assay"], False
    for word in words:
        if not skip and not word.startswith(("--in=", "--mount=", "--home=")):
            skip = word in ("--in", "--mount", "--home")
            inner += [] if skip else [word]
        else:
            skip = False
    return run_image(image, inner, mounts, gpus, store=store)


def _run_plan(path: str, every: str, store: str | None, format: str) -> int:
    from assay.commands.schedule.run_plan import run_plan
    from assay.commands.schedule.view import output
    from assay.stores.read import read_results

    handle_signals()
    line = ProgressLine()
    night = run_plan(path, every, store, line, line.done)
    line.clear()
    results = read_results(Query(ids=night.runs), store) if night.runs else []
    printing.show(output(night, results), format)
    return night.status
