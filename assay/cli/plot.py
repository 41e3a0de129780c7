"""assay plot: results as a figure."""

from __future__ import annotations

import click

from assay.cli import complete, options
from assay.verbs import plot


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
    help="Draw memory and CPU over time, or every sample.",
)
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="Figure to write: .png, .svg or .pdf."
)
@options.home
def command(what: str, series: plot.Series, output: str, home: str | None) -> int:
    """Draw the samples of a run's results, below each other, or of one.

    ID is RUN or RUN/NNN. For --series process it is a run of one result, RUN/NNN, or the path of a
    process_info.log, of PerfZero too.
    """
    options.say(f"written to {plot.plot(what, series, output, home=home)}")
    return 0
