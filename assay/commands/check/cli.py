"""assay check: did anything get worse."""

from __future__ import annotations

from typing import Annotated, Literal

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.progress import ProgressLine
from assay.commands.check import api
from assay.commands.check.view import junit, output
from assay.core.options import Flag
from assay.core.records import Query


@click_command(
    api.check,
    epilog="""\b
Examples:
  assay check                                        every series, newest against the stretch before
  assay check --since main --fail-on 'step_time:3%' --confirm
  assay check --since label:release-1 --fail-on 'step_time:3%' --fail-on 'throughput:-5%'
  assay check --since 2026-11-01 --format markdown
  assay check --confirm --format junit > check.xml
  assay check --alert https://hooks.example.org/T0/B0 --alert 'cmd:notify-send assay'

  assay check --accept CASE --why 'the new default is more accurate'

A regression stays open until it is confirmed, refuted, accepted or gone. Exit status: 0 nothing got
worse, 5 a regression (with --confirm: a confirmed one), 6 a suspect, or --confirm could not
decide.""",
)
def command(
    keywords: Keywords,
    *,
    workload: Annotated[str, Flag("Only of this workload.")] = "",
    backend: Annotated[str, Flag("Only of this backend.")] = "",
    machine: Annotated[str, Flag("Only of this host, processor or ASSAY_MACHINE.")] = "",
    everything: Annotated[bool, Flag("List fine series too.", flags="--all")] = False,
    format: Annotated[
        Literal["text", "json", "junit", "markdown", "csv"], Flag("Format of the output.")
    ] = "text",
) -> int:
    """Check whether anything got worse: the gate for a CI or a nightly job.

    The newest points of every series are held against a baseline. What counts as a regression
    holds over all series together, so that a suite of hundreds does not ring every night.
    """
    query = Query(workload=workload, backend=backend, machine=machine)
    line = ProgressLine()
    checked = api.check(query=query, progress=line, **keywords)
    line.clear()
    if format == "junit":
        printing.put(junit(checked))
    else:
        printing.show(output(checked, everything), format)
    options.print_message(*checked.alerts)
    return api.status(checked)
