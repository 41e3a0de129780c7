"""assay check: did anything get worse."""

from __future__ import annotations

from typing import Any

import click

from assay.cli import options, printing
from assay.cli.progress import LiveLine
from assay.commands.check import api
from assay.commands.check.view import junit, output
from assay.core.records import Query

FORMATS = ("text", "json", "junit", "markdown", "csv")


@click.command(
    epilog="""\b
Examples:
  assay check                                        every series, newest against the stretch before
  assay check --since main --fail-on 'step_time:3%' --confirm
  assay check --since label:release-1 --fail-on 'step_time:3%' --fail-on 'throughput:-5%'
  assay check --since 2026-11-01 --format markdown
  assay check --confirm --format junit > check.xml
  assay check --alert https://hooks.example.org/T0/B0 --alert 'cmd:notify-send assay'

Leaves with 0 when nothing got worse, 5 when something did (with --confirm: and was confirmed), 6
when --confirm could not decide."""
)
@click.option(
    "--since",
    default="",
    metavar="BASELINE",
    help="label:NAME, tag:NAME=VALUE, commit:REF, date:DATE, or one of these bare; "
    "default: the last stretch without a shift.",
)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="METRIC:SHARE",
    help="How much worse it may get, as in step_time:3%; with a direction: loss:+1%, rate:-5%. "
    "Repeatable; default: 3% of each series' usual metric.",
)
@click.option("--workload", default="", help="Only of this workload.")
@click.option("--backend", default="", help="Only of this backend.")
@click.option("--machine", default="", help="Only of this host, processor or ASSAY_MACHINE.")
@click.option(
    "--level",
    default="1%",
    show_default=True,
    help="Share of false alarms, over all series together.",
)
@click.option(
    "--confirm", is_flag=True, help="Measure suspects again, side by side, before failing."
)
@click.option(
    "--most",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Suspects that --confirm measures, the worst first.",
)
@click.option("--budget", default="5m", show_default=True, help="Time to confirm one suspect.")
@click.option(
    "--alert",
    "alerts",
    multiple=True,
    metavar="PLACE",
    help="Where to tell what was found: https://… (as Slack takes it), smtp://HOST:PORT?to=a@b.c "
    "or cmd:COMMAND. Repeatable.",
)
@click.option("--all", "everything", is_flag=True, help="List fine series too.")
@options.home
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Format of the output.",
)
def command(
    workload: str,
    backend: str,
    machine: str,
    everything: bool,
    form: str,
    **given: Any,
) -> int:
    """Check whether anything got worse: the gate for a CI or a nightly job.

    The newest points of every series are held against a baseline. What counts as a regression
    holds over all series together, so that a suite of hundreds does not ring every night.
    """
    query = Query(workload=workload, backend=backend, machine=machine)
    line = LiveLine()
    found = api.check(query=query, progress=line, **given)
    line.clear()
    if form == "junit":
        printing.put(junit(found))
    else:
        printing.show(output(found, everything), form)
    options.say(*found.alerts)
    return api.status(found)
