"""assay doctor: how trustworthy is this machine, now?"""

from __future__ import annotations

import click

from assay import api, codec
from assay.cli import options
from assay.cli.output import print_table
from assay.views.checkup import checkup_tables


@click.command(
    epilog="""\b
Examples:
  assay doctor
  assay doctor --quick
  assay doctor --format json"""
)
@click.option("--quick", is_flag=True, help="A short look: rougher numbers, a quarter of the time.")
@options.home
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
)
def command(quick: bool, home: str | None, form: str) -> int:
    """What this machine is, how noisy it is now, what would help, how fast it can be.

    Takes under a minute. The peaks are kept, and later results are held against them.
    """
    found = api.doctor(quick=quick, home=home, tell=options.say)
    if form == "json":
        click.echo(codec.encode(found, indent=2))
        return 0
    for number, table in enumerate(checkup_tables(found)):
        if number:
            click.echo()
        print_table(table, form)
    return 0
