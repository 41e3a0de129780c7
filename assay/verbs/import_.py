"""Run folders from elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from assay.core.settings import Home
from assay.registry import open_store


def adopt(
    *run_folders: str | Path, home: Home = None, say: Callable[[str], None] | None = None
) -> list[str]:
    """Copy run folders from elsewhere into the store; the ids of their results.

    What is no plain file is left out, which is said.
    """
    with closing(open_store(home)) as store:
        before = len(store.problems)
        found = [one for folder in run_folders for one in store.adopt(Path(folder))]
        for problem in store.problems[before:]:
            if say:
                say(problem)
    return found
