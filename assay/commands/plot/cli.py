"""assay plot: results as a figure."""

from __future__ import annotations

import click

from assay.cli import complete, options
from assay.commands.plot import api


@click.command(
    epilog="""\b
Examples:
  assay plot last -o samples.png
  assay plot last/001 --series samples -o samples.png
  assay plot 20261115-101500-k3fq/002 --series process -o memory.svg
  assay plot runs/old/process_info.log --series process -o old.pdf"""
)
@click.argument("what", metavar="ID", shell_complete=complete.runs)
@click.option(
    "--series",
    type=click.Choice(["process", "samples"]),
    default="samples",
    show_default=True,
    help="Plot every sample, or memory and CPU over time.",
)
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="Figure to write: .png, .svg or .pdf."
)
@options.home
def command(what: str, series: api.Series, output: str, home: str | None) -> int:
    """Plot a run or one of its results.

    ID is RUN or RUN/NNN. A comparison or race becomes one chart; other runs show the samples of
    each result, and trainings and tasks their metrics. --series process needs a single result, or
    the path of a process_info.log, PerfZero's too.
    """
    options.say(f"written to {api.plot(what, series, output, home=home)}")
    return 0
