"""assay profile: where the time of a model goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from assay import codec, profiling, settings, units
from assay.cli import options
from assay.cli.ending import heed_signals
from assay.cli.output import print_table
from assay.cli.progress import LiveLine
from assay.cli.run import BAD
from assay.findings import Profile
from assay.views import profiles


@click.command(
    epilog="""\b
Examples:
  assay profile vgg16@keras-jax
  assay profile mnist-mlp@torch --steps 20 --top 30
  assay profile ./my.py:MyNet@keras-tensorflow:precision=bfloat16 -o traces"""
)
@click.argument("case")
@click.option("--steps", type=int, default=5, show_default=True, help="To be profiled.")
@click.option(
    "--top", type=click.IntRange(1), default=15, show_default=True, help="Operations to show."
)
@click.option("-o", "--output", default="", metavar="FOLDER", help="Copy the trace there.")
@click.option("--timeout", default="10m", show_default=True)
@click.option("--label", default="", help="A name to find the result by.")
@options.tag
@options.home
@options.form
def command(case: str, top: int, form: str, **given: Any) -> int:  # noqa: ANN401 (click's values)
    """Run some steps of CASE under its framework's profiler, after others to warm up.

    Shows the operations that took longest and keeps the trace, for TensorBoard and Perfetto. A
    profiler costs time: to know how fast CASE is, use assay run.
    """
    heed_signals()
    line = LiveLine()
    found = profiling.profile(
        case,
        steps=given["steps"],
        output=given["output"],
        timeout=units.seconds(given["timeout"]),
        label=given["label"],
        tags=options.pairs(given["tags"], "--tag"),
        home=given["home"],
        watch=line,
    )
    line.done(found.result)
    if form == "json":
        click.echo(codec.encode(profiles.document(found, top), indent=2))
    elif found.operations:
        print_table(profiles.operations_table(found, top), form)
    _say_more(found, settings.home(given["home"]))
    return _status(found)


def _say_more(found: Profile, home: Path) -> None:
    result = found.result
    if result.status in BAD:
        options.say(f"what it printed: {home / 'runs' / result.id / 'worker.log'}")
    if result.reason:
        options.say(f"{result.status}: {result.reason}")
    options.say(*profiles.how_to_open(found), f"kept as {result.id}")


def _status(found: Profile) -> int:
    if found.result.status in BAD:
        return 1
    return 3 if found.result.status == "skipped" else 0
