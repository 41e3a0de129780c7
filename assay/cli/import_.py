"""assay import: run folders from elsewhere."""

from __future__ import annotations

import click

from assay.cli import options, printing
from assay.verbs import import_


@click.command(
    epilog="""\b
Example:
  assay import ~/from-the-gpu-box/runs/20261115-101500-k3fq"""
)
@click.argument("folders", nargs=-1, required=True, metavar="RUN_FOLDER…")
@options.home
def command(folders: tuple[str, ...], home: str | None) -> int:
    """Copy RUN_FOLDER… into the store; results that are there already stay as they are."""
    for found in import_.adopt(*folders, home=home, say=options.say):
        printing.put(found)
    return 0
