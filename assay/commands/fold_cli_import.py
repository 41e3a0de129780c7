"""assay import: run folders from elsewhere, and files of other tools."""

from __future__ import annotations

import click

from assay.cli import complete, options, printing
from assay.commands import fold_verbs_import


@click.command(
    epilog="""\b
Examples:
  assay import ~/from-the-gpu-box/runs/20261115-101500-k3fq
  assay import pyperf.json hyperfine.json --label before
  assay import results.json --as google-benchmark"""
)
@click.argument("places", nargs=-1, required=True, metavar="RUN_FOLDER|FILE…")
@click.option(
    "--as",
    "kind",
    default="",
    metavar="KIND",
    shell_complete=complete.file_formats,
    help="Kind of the files; default: found by their content.",
)
@options.label
@options.tag
@options.home
def command(
    places: tuple[str, ...], kind: str, label: str, tags: tuple[str, ...], home: str | None
) -> int:
    """Copy RUN_FOLDER…, or the results in FILE… of another tool, into the store.

    What is there already stays as it is. KIND is one of those that `assay list formats` shows.
    """
    marks = options.pairs(tags, "--tag")
    for found in fold_verbs_import.adopt(
        *places, kind=kind, label=label, tags=marks, home=home, say=options.say
    ):
        printing.put(found)
    return 0
