"""assay show: results again."""

from __future__ import annotations

import importlib

import click

from assay import api
from assay.cli import options
from assay.cli.output import print_readings
from assay.errors import UsageError
from assay.records import Query
from assay.views.detail import detail


@click.command(
    epilog="""\b
Examples:
  assay show last
  assay show 20261115-101500-k3fq/002 --format json
  assay show k3fq --format markdown
  assay show last --results                  the processes of a comparison, race or study"""
)
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@click.option("--results", is_flag=True, help="Of a comparison, race or study: every process.")
@options.home
@options.form
def command(ids: tuple[str, ...], results: bool, home: str | None, form: str) -> int:
    """Show runs or single results. A single one is shown with all that is known of it.

    ID is RUN, RUN/NNN, a unique beginning or ending of RUN, or `last`. A comparison, race or study
    is shown as it was when it ended.
    """
    if len(ids) == 1 and "/" not in ids[0] and not results:
        verb = api.decided_by(ids[0], home)
        if verb:
            importlib.import_module(f"assay.cli.{verb}").show(ids[0], home, form)
            return 0
    readings = api.readings(Query(ids=ids), home=home, tell=lambda line: options.say(line))
    if not readings:
        raise UsageError(
            f"{' '.join(ids)} has no readable result.",
            hint=f"Was it cut short? Then: assay run --resume {ids[0].partition('/')[0]}",
        )
    if form == "text" and len(readings) == 1:
        click.echo(detail(readings[0]))
    else:
        print_readings(readings, form)
    return 0
