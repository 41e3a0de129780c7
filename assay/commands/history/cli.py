"""assay history: one case over time."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import complete, options, printing
from assay.commands.history import api
from assay.commands.history.view import output
from assay.core.records import Query


@click.command(
    epilog="""\b
Examples:
  assay history vgg16@keras-jax                   its step time, with a chart in the terminal
  assay history vgg16@keras-jax --metric open_time
  assay history vgg16 --machine H200              all series of a workload on a machine
  assay history vgg16@keras-jax --by commit       in the order of this repository's commits
  assay history vgg16@keras-jax --format json     with every point, shift and drift"""
)
@click.argument("case", shell_complete=complete.cases)
@click.option("--metric", default="", help="What to follow; default: step_time, or what there is.")
@click.option("--machine", default="", help="Only of this host, processor or ASSAY_MACHINE.")
@click.option("--label", default="", help="Only series with results of this label.")
@click.option("--since", default="", metavar="DATE", help="Only series with results from then on.")
@click.option(
    "--by",
    "order",
    type=click.Choice(["time", "commit"]),
    default="time",
    show_default=True,
    help="Order of the points.",
)
@options.home
@options.form
def command(case: str, label: str, since: str, form: str, **given: Any) -> int:
    """Show the series of CASE over time: its shifts, its drift, and what changed there.

    CASE is WORKLOAD@BACKEND, a whole case, or a workload alone.
    """
    query = Query(label=label, since=since)
    printing.show(output(api.history(case, query=query, **given), form), form)
    return 0
