"""assay upload: send results to BigQuery, object storage and CloudWatch metrics."""

from __future__ import annotations

from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.finish import output
from assay.core.options import Argument, Format
from assay.platforms.sinks import upload


@click_command(
    upload.upload,
    epilog="""\b
Examples:
  assay upload last --bigquery my-project:benchmarks.results
  assay upload k3fq --bigquery my-project:perfzero.summary --table perfzero
  assay upload last --objects gs://my-bucket/results
  assay upload last --objects s3://my-bucket/results --metrics /var/log/assay/metrics.jsonl
  assay upload --list-pending                    show what could not be sent, and why
  assay upload --pending                         send it now

Exit status 1 if something could not be sent; it stays in the outbox, and --pending sends it.""",
)
def command(
    ids: Annotated[tuple[str, ...], Argument("[RUN…]", complete="runs")],
    keywords: Keywords,
    format: Format = "text",
) -> int:
    """Upload results, each once.

    What cannot be sent waits in the outbox and is sent by the next upload. A file sinks.toml in the
    home folder (bigquery = "…", objects = "…") uploads every run by itself.
    """
    uploads = upload.upload(*ids, **keywords, progress=options.print_message)
    printing.show(output(uploads), format)
    return uploads.status
