"""assay report: a run as one HTML file."""

from __future__ import annotations

import click

from assay.cli import complete, options, printing


@click.command(
    epilog="""\b
Examples:
  assay report last -o report.html
  assay report nightly -o nightly.html         all runs labelled so"""
)
@click.argument("what", metavar="RUN|LABEL", shell_complete=complete.runs)
@click.option("-o", "--output", default="report.html", show_default=True, help="File to write.")
@options.home
def command(what: str, output: str, home: str | None) -> None:
    """Write a run, or all runs of a label, as one HTML file.

    It opens offline and loads nothing: mail it, attach it, put it on any host.
    """
    from assay.web.report import report

    printing.put(str(report(what, output, home)))
