"""assay history: one case over time."""

from __future__ import annotations

from typing import Annotated

from assay.cli import printing
from assay.cli.command import Keywords, click_command
from assay.commands.history import api
from assay.commands.history.view import output
from assay.core.options import Flag, Format
from assay.core.records import Query


@click_command(
    api.history,
    epilog="""\b
Examples:
  assay history vgg16@keras-jax                   its step time, with a chart in the terminal
  assay history vgg16@keras-jax --metric open_time
  assay history vgg16 --machine H200              all series of a workload on a machine
  assay history vgg16@keras-jax --by commit       in the order of this repository's commits
  assay history vgg16@keras-jax --format json     with every point, shift and drift""",
)
def command(
    keywords: Keywords,
    *,
    label: Annotated[str, Flag("Only series with results of this label.")] = "",
    since: Annotated[str, Flag("Only series with results from then on.", "DATE")] = "",
    format: Format = "text",
) -> int:
    """Show the series of CASE over time: its shifts, its drift, and what changed there.

    CASE is WORKLOAD@BACKEND, a whole case, or a workload alone.
    """
    query = Query(label=label, since=since)
    histories = api.history(**keywords, query=query)
    printing.show(output(histories, format, printing.terminal_width()), format)
    return 0
