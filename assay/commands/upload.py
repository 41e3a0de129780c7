"""assay upload: results to BigQuery, to objects, to CloudWatch's metrics."""

from __future__ import annotations

import click

from assay.cli import complete, options, printing
from assay.cli.finish import output
from assay.platforms.sinks import upload
from assay.platforms.sinks.records import Sinks
from assay.platforms.sinks.tables import TABLES


@click.command(
    epilog="""\b
Examples:
  assay upload last --bigquery my-project:benchmarks.results
  assay upload k3fq --bigquery my-project:perfzero.summary --table perfzero
  assay upload last --objects gs://my-bucket/results
  assay upload last --objects s3://my-bucket/results --metrics /var/log/assay/metrics.jsonl
  assay upload --pending                         what could not be sent before

Leaves with 1 when something did not arrive: it is kept, and --pending sends it."""
)
@click.argument("ids", nargs=-1, metavar="[RUN…]", shell_complete=complete.runs)
@click.option("--bigquery", default="", metavar="PROJECT:DATASET.TABLE", help="Table for the rows.")
@click.option(
    "--table",
    default="assay",
    show_default=True,
    metavar="|".join(TABLES),
    help="Columns of the table, which is made if it is not there.",
)
@click.option(
    "--objects", default="", metavar="PLACE", help="gs://…, s3://… or a folder for the files."
)
@click.option(
    "--metrics", default="", metavar="FILE", help="JSON lines in CloudWatch's embedded format."
)
@click.option(
    "--key",
    default="",
    metavar="FILE",
    help="Key file of Google Cloud; default: as its libraries find credentials.",
)
@click.option("--pending", is_flag=True, help="Send what could not be sent before.")
@options.home
@options.form
def command(ids: tuple[str, ...], pending: bool, home: str | None, form: str, **given: str) -> int:
    """Send results elsewhere, each once.

    What a service that is away does not take stays on the disk, and is sent by the next upload. A
    file sinks.toml in the home folder (bigquery = "…", objects = "…") uploads every run by itself.
    """
    sinks = Sinks(**given)
    found = upload.upload(*ids, sinks=sinks, pending=pending, home=home, progress=options.say)
    printing.show(output(found), form)
    return found.status
