"""assay publish: the whole store as a static site."""

from __future__ import annotations

import sys

import click

from assay.cli import options, printing


@click.command(
    epilog="""\b
Examples:
  assay publish site/
  assay publish site/ --runs 500 && python -m http.server --directory site --bind 127.0.0.1"""
)
@click.argument("folder")
@click.option(
    "--runs", default=50, show_default=True, help="Newest runs that get pages of their own."
)
@options.home
def command(folder: str, runs: int, home: str | None) -> None:
    """Write the dashboard as a folder of pages for any static host.

    Overview, every history, and the newest runs with their results, each with its JSON twin.
    """
    from assay.web.publish import publish

    with click.progressbar(length=1, label="pages", file=sys.stderr) as bar:

        def progress(number: int, count: int) -> None:
            bar.length = count
            bar.update(1)

        site = publish(folder, runs, home, progress)
    printing.put(str(site))
