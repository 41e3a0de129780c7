"""assay show: results again."""

from __future__ import annotations

import click

from assay.cli import complete, options, printing
from assay.cli.main import load
from assay.core.errors import UsageError
from assay.core.records import Query
from assay.reporting.results import output
from assay.stats.fairness.checks import fairness
from assay.stores import read

DECIDING = ("ab", "race", "study", "bisect")  # verbs that show more than the results of their run


@click.command(
    epilog="""\b
Examples:
  assay show last
  assay show 20261115-101500-k3fq/002 --format json
  assay show k3fq --format markdown
  assay show last --columns memory,p50,p99,energy
  assay show last --format json --raw        every sample too
  assay show last --results                  the processes of a comparison, race or study"""
)
@click.argument("ids", nargs=-1, required=True, metavar="ID…", shell_complete=complete.runs)
@click.option(
    "--results", is_flag=True, help="Show the results behind a comparison, race or study."
)
@click.option("--raw", is_flag=True, help="With --format json: every sample too.")
@options.columns
@options.home
@options.form
def command(
    ids: tuple[str, ...], results: bool, raw: bool, columns: str, home: str | None, form: str
) -> int:
    """Show runs or single results. A single one is shown with all that is known of it.

    ID is RUN, RUN/NNN, a unique beginning or ending of RUN, or `last`. A comparison, race or study
    is shown as it was when it ended.
    """
    if len(ids) == 1 and "/" not in ids[0] and not (results or raw or columns):
        verb = read.made_by(ids[0], home)
        if verb in DECIDING:
            load(verb).show(ids[0], home, form)
            return 0
    readings = read.readings(Query(ids=ids), home=home, say=lambda line: options.say(line))
    if not readings:
        raise UsageError(
            f"{' '.join(ids)} has no readable result.",
            hint=read.resume_hint(ids[0].partition("/")[0], home),
        )
    unlike = fairness(reading.result for reading in readings)
    chosen = options.values(columns) if columns else ()
    printing.show(output(readings, unlike, chosen, detailed=True, raw=raw), form)
    return 0
