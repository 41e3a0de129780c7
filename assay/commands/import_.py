"""Run folders from elsewhere, and what other tools measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import click

from assay.cli import complete, options, printing
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.measure.import_file import keep_file


def adopt(
    *places: str | Path,
    kind: str = "",
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: Home = None,
    say: Callable[[str], None] | None = None,
) -> list[str]:
    """Take run folders, or files of other tools, into the store; the ids of their results.

    The kind of a file is found by its content. `label` and `tags` are for files: a run has its own.
    What is no plain file in a run folder is left out, which is said.
    """
    with closing(open_store(home)) as store:
        before = len(store.problems)
        found = [
            one
            for place in map(Path, places)
            for one in (
                keep_file(store, place, kind, label, tags)
                if os.path.exists(place) and not os.path.isdir(place)
                else store.adopt(place)
            )
        ]
        for problem in store.problems[before:]:
            if say:
                say(problem)
    return found


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
    for found in adopt(*places, kind=kind, label=label, tags=marks, home=home, say=options.say):
        printing.put(found)
    return 0
