"""assay show: results again."""

from __future__ import annotations

import click

from assay import api
from assay.cli import options
from assay.cli.output import print_readings
from assay.contracts import Query
from assay.errors import UsageError
from assay.views.detail import detail


@click.command(
    epilog="""\b
Examples:
  assay show last
  assay show 20261115-101500-k3fq/002 --format json
  assay show k3fq --format markdown"""
)
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@options.home
@options.form
def command(ids: tuple[str, ...], home: str | None, form: str) -> int:
    """Show runs or single results. A single one is shown with all that is known of it.

    ID is RUN, RUN/NNN, a unique beginning or ending of RUN, or `last`.
    """
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
