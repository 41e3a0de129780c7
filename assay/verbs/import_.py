"""Run folders from elsewhere."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from assay.core.settings import Home
from assay.registry import open_store


def adopt(*run_folders: str | Path, home: Home = None) -> list[str]:
    """Copy run folders from elsewhere into the store; the ids of their results."""
    with closing(open_store(home)) as store:
        return [found for folder in run_folders for found in store.adopt(Path(folder))]
