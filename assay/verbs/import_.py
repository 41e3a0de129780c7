"""Run folders from elsewhere, and what other tools measured."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from assay.core.settings import Home
from assay.engine.import_file import keep_file
from assay.registry import open_store


def adopt(
    *places: str | Path,
    kind: str = "",
    label: str = "",
    tags: Mapping[str, str] | None = None,
    home: Home = None,
) -> list[str]:
    """Take run folders, or files of other tools, into the store; the ids of their results.

    The kind of a file is found by its content. `label` and `tags` are for files: a run has its own.
    """
    with closing(open_store(home)) as store:
        return [
            found
            for place in map(Path, places)
            for found in (
                keep_file(store, place, kind, label, tags)
                if place.exists() and not place.is_dir()
                else store.adopt(place)
            )
        ]
