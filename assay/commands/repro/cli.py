"""assay repro: does a result come out again?"""

from __future__ import annotations

from typing import Any

import click

from assay.cli import complete, options, printing
from assay.cli.finish import handle_signals
from assay.cli.progress import LiveLine
from assay.commands.repro import api as verb

STATUS = {"reproduced": 0, "possible": 0, "differs": 1, "cannot": 3, "undecided": 6}


@click.command(
    epilog="""\b
Examples:
  assay repro last                               measures it again, and compares
  assay repro last --within 5% --processes 10    undecided, unless it is known that well
  assay repro k3fq/002 --check                   what it takes, and what is missing here
  assay repro k3fq/002 --write repro             the lock of its packages, and a Containerfile
  assay repro 7hw3kq2m --from ~/their/run        a repro id, and the folder of the run
  assay repro k3fq/002 --against last/001        whether another result reproduces it"""
)
@click.argument("id", metavar="ID", shell_complete=complete.runs)
@click.option(
    "--from", "origin", default="", metavar="PLACE", help="Folder or URL of the run it lies in."
)
@click.option(
    "--against",
    default="",
    metavar="ID",
    shell_complete=complete.runs,
    help="Compare to this kept result, and measure nothing.",
)
@click.option("--check", is_flag=True, help="Only show what it takes and what is missing.")
@click.option("--write", default="", metavar="FOLDER", help="Write lock file and Containerfile.")
@click.option(
    "--within",
    default="50%",
    show_default=True,
    help="The largest difference that is called reproduced; what may be more is undecided.",
)
@click.option(
    "--processes",
    type=click.IntRange(2),
    help="Processes to measure again in; default: as many as it had, or 5.",
)
@options.trust
@options.home
@options.form
def command(form: str, **given: Any) -> int:
    """Measure a kept result again: is it reproduced, does it differ, or what is missing?

    ID is RUN/NNN, a run of one result, `last`, or a repro id. Leaves with 0 if it is reproduced,
    with 1 if it differs, with 3 if it cannot be measured here, with 6 if it is undecided.
    """
    from assay.commands.repro.view import output

    handle_signals()
    line = LiveLine()
    try:
        found = verb.repro(progress=line, **{**given, "processes": given["processes"] or 0})
    finally:
        line.clear()
    printing.show(output(found), form)
    return STATUS[found.answer]
