"""assay profile: where the time of a model goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay.cli import complete, options, printing
from assay.cli.finish import say_logs, status_of
from assay.cli.fold_cli_interrupts import handle_signals
from assay.cli.progress import LiveLine
from assay.commands import fold_verbs_profile as verb
from assay.commands import fold_views_profile as view
from assay.core import settings
from assay.core.findings import Profile


@click.command(
    epilog="""\b
Examples:
  assay profile vgg16@keras-jax
  assay profile mnist-mlp@torch --steps 20 --top 30
  assay profile ./my.py:MyNet@keras-tensorflow:precision=bfloat16 -o traces"""
)
@click.argument("case", shell_complete=complete.cases)
@click.option("--steps", type=int, default=5, show_default=True, help="Number of steps to profile.")
@click.option(
    "--top",
    type=click.IntRange(1),
    default=15,
    show_default=True,
    help="Number of operations to show.",
)
@click.option("-o", "--output", default="", metavar="FOLDER", help="Copy the trace to this folder.")
@options.timeout("10m", "the profile")
@options.trust
@options.label
@options.tag
@options.home
@options.form
def command(case: str, top: int, form: str, **given: Any) -> int:  # noqa: ANN401 (click's values)
    """Run some steps of CASE under its framework's profiler, after a warm-up.

    Shows the operations that took longest and keeps the trace, for TensorBoard and Perfetto. A
    profiler costs time: to know how fast CASE is, use assay run.
    """
    handle_signals()
    line = LiveLine()
    found = verb.profile(
        case,
        steps=given["steps"],
        output=given["output"],
        timeout=given["timeout"],
        trust=given["trust"],
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
        home=given["home"],
        progress=line,
    )
    line.done(found.result)
    printing.show(view.output(found, top), form, in_file=printing.READABLE)
    _print_more(found, settings.runs(given["home"]))
    return status_of([found.result])


def _print_more(found: Profile, runs: Path) -> None:
    result = found.result
    say_logs([result], runs)
    if result.reason:
        options.say(f"{result.status}: {result.reason}")
    options.say(*view.how_to_open(found), f"kept as {result.id}")
