"""assay doctor: how trustworthy is this machine, now?"""

from __future__ import annotations

import click

from assay.cli import options, printing
from assay.commands import fold_verbs_doctor
from assay.commands.fold_views_doctor import output


@click.command(
    epilog="""\b
Examples:
  assay doctor
  assay doctor --quick
  assay doctor --format json"""
)
@click.option(
    "--quick", is_flag=True, help="Measure for a quarter of the time; numbers are rougher."
)
@options.home
@options.form
def command(quick: bool, home: str | None, form: str) -> int:
    """Check this machine: what it is, how noisy it is now, what would help, its peak rates.

    Takes under a minute. The peaks are kept, and later results are compared to them.
    """
    found = fold_verbs_doctor.doctor(quick=quick, home=home, progress=options.say)
    printing.show(output(found), form)
    return 0
