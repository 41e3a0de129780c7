"""Import run folders and results of other tools."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.core.options import Argument, Flag, Label, StoreUrl, Tags, accept_old_keywords
from assay.core.registry import open_store
from assay.measure.import_file import keep_file


@accept_old_keywords(home="store")
def import_run(
    *sources: str | Path,
    kind: Annotated[
        str,
        Flag(
            "Kind of the files; default: detected from their content.",
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
    """Import run folders, or files of other tools, into the store; returns the ids of the results.

    The kind of a file is detected from its content. `label` and `tags` are for files: a run has its
    own. Anything but plain files in a run folder is skipped and reported.
    """
    with closing(open_store(store)) as results:
        before = len(results.problems)
        ids = [
            result_id
            for path in map(Path, sources)
            for result_id in (
                keep_file(results, path, kind, label, tags)
                if os.path.exists(path) and not os.path.isdir(path)
                else results.adopt(path)
            )
        ]
        for problem in results.problems[before:]:
            if say:
                say(problem)
    return ids


@click_command(
    import_run,
    epilog="""\b
Examples:
  assay import ~/from-the-gpu-box/runs/20261115-101500-k3fq
  assay import pyperf.json hyperfine.json --label before
  assay import results.json --as google-benchmark""",
)
def command(
    sources: Annotated[tuple[str, ...], Argument("RUN_FOLDER|FILE…", required=True)],
    keywords: Keywords,
) -> int:
    """Copy RUN_FOLDER…, or the results in FILE… of another tool, into the store.

    Existing results stay unchanged. KIND is one of those that `assay list formats` shows.
    """
    for result in import_run(*sources, **keywords, say=options.print_message):
        printing.put(result)
    return 0
