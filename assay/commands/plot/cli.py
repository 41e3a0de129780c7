"""assay plot: results as a figure."""

from __future__ import annotations

from assay.cli import options
from assay.cli.command import Keywords, click_command
from assay.commands.plot import api


@click_command(
    api.plot,
    epilog="""\b
Examples:
  assay plot last -o samples.png
  assay plot last/001 --series samples -o samples.png
  assay plot 20261115-101500-k3fq/002 --series process -o memory.svg
  assay plot runs/old/process_info.log --series process -o old.pdf""",
)
def command(keywords: Keywords) -> int:
    """Plot a run or one of its results.

    ID is RUN or RUN/NNN. A comparison or race becomes one chart; other runs show the samples of
    each result, and trainings and tasks their metrics. --series process needs a single result, or
    the path of a process_info.log, PerfZero's too.
    """
    options.print_message(f"written to {api.plot(**keywords)}")
    return 0
