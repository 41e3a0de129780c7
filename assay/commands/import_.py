"""Run folders from elsewhere, and what other tools measured."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.core.options import Argument, Flag, Label, StoreUrl, Tags, older_keywords
from assay.core.registry import open_store
from assay.measure.import_file import keep_file


@older_keywords(home="store")
def adopt(
    *places: str | Path,
    kind: Annotated[
        str,
        Flag(
            "Kind of the files; default: found by their content.",
            "KIND",
            flags="--as",
            complete="file_formats",
        ),
    ] = "",
    label: Label = "",
    tags: Tags = None,
    store: StoreUrl = None,
    say: Callable[[str], None] | None = None,
) -> list[str]:
    """Take run folders, or files of other tools, into the store; the ids of their results.

    The kind of a file is found by its content. `label` and `tags` are for files: a run has its own.
    What is no plain file in a run folder is left out, which is said.
    """
    with closing(open_store(store)) as results:
        before = len(results.problems)
        found = [
            one
            for place in map(Path, places)
            for one in (
                keep_file(results, place, kind, label, tags)
                if os.path.exists(place) and not os.path.isdir(place)
                else results.adopt(place)
            )
        ]
        for problem in results.problems[before:]:
            if say:
                say(problem)
    return found


@click_command(
    adopt,
    epilog="""\b
Examples:
  assay import ~/from-the-gpu-box/runs/20261115-101500-k3fq
  assay import pyperf.json hyperfine.json --label before
  assay import results.json --as google-benchmark""",
)
def command(
    places: Annotated[tuple[str, ...], Argument("RUN_FOLDER|FILE…", required=True)],
    keywords: Keywords,
) -> int:
    """Copy RUN_FOLDER…, or the results in FILE… of another tool, into the store.

    What is there already stays as it is. KIND is one of those that `assay list formats` shows.
    """
    for result in adopt(*places, **keywords, say=options.say):
        printing.put(result)
    return 0
