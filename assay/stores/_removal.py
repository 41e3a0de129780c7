"""Removal of runs and results in one order of writes, so that a killed removal is finished later.

1. The folder is renamed to `runs/.removed-…`; from then on the results are removed. A run that is
   only in a pack gets an empty folder of that name.
2. The results are deleted from the index, and the run from packs.
3. The renamed folder is deleted.

Steps 2 and 3 are repeated by the next process that opens the store.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from assay.stores import folders

_PREFIX = ".removed-"  # then random characters, "-", the run and, for a single result, "@NNN"


class Removal(NamedTuple):
    """A removal that has begun."""

    folder: Path  # renamed, or empty for a run in a pack
    run: str
    case: str  # NNN; "": the whole run

    @property
    def source(self) -> Path:
        return self.folder.parent / self.run / self.case


def begin(runs: Path, result_id: str) -> Removal:
    """Step 1, for a run (RUN) or a result (RUN/NNN)."""
    run, _, case = result_id.partition("/")
    name = f"{_PREFIX}{os.urandom(4).hex()}-{run}" + (f"@{case}" if case else "")
    removal = Removal(runs / name, run, case)
    with folders.explain_os_errors(removal.source):
        if removal.source.is_dir():
            removal.source.rename(removal.folder)
        else:
            removal.folder.mkdir()
    return removal


def end(removal: Removal) -> None:
    """Step 3; another process may do it at the same time."""
    with folders.explain_os_errors(removal.folder):
        if removal.folder.is_symlink():
            removal.folder.unlink(missing_ok=True)
        while removal.folder.is_dir():
            with suppress(FileNotFoundError):
                import shutil  # rarely needed, slow import

                shutil.rmtree(removal.folder)


def leftovers(runs: Path) -> list[Removal]:
    """Removals that a killed process left."""
    with folders.explain_os_errors(runs), os.scandir(runs) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(_PREFIX)]
    removals = []
    for name in sorted(names):
        run, _, case = name[len(_PREFIX) :].partition("-")[2].partition("@")
        if folders.RUN.fullmatch(run) and (not case or folders.NUMBER.fullmatch(case)):
            removals.append(Removal(runs / name, run, case))
    return removals
