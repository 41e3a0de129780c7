"""Modes of the files of a store: those of its folder of runs, or $ASSAY_UMASK.

A new store is private: 0600 in 0700. An existing one keeps its mode, and what is written to it gets
the same, so that users who share a store can read and write it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from assay.core.errors import UsageError

VARIABLE = "ASSAY_UMASK"
PRIVATE = 0o077


def create_store(runs: Path) -> None:
    """Create the folder of runs, and those above it that are missing."""
    missing = [folder for folder in (runs, *runs.parents) if not folder.exists()]
    runs.mkdir(parents=True, exist_ok=True)
    for folder in missing:
        _set(folder, PRIVATE if _from_variable() is None else _umask(runs))


def set_modes(path: Path, runs: Path) -> None:
    """Give a file or folder, and all in it, the mode of its store. Links are left alone."""
    mask = _umask(runs)
    _set(path, mask)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            _set(Path(folder, name), mask)


def set_mode(path: Path, runs: Path) -> None:
    """Give one file or folder the mode of its store."""
    _set(path, _umask(runs))


def _umask(runs: Path) -> int:
    chosen = _from_variable()
    return ~runs.stat().st_mode & 0o777 if chosen is None else chosen


def _from_variable() -> int | None:
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    try:
        mask = int(text, 8)
    except ValueError:
        mask = -1
    if not 0 <= mask <= 0o077:
        raise UsageError(
            f"{VARIABLE} is {text[:20]!r}, which is no umask that leaves you your own files.",
            hint="077: only you; 027: your group reads; 007: your group writes; 022: all read.",
        )
    return mask


def _set(path: Path, mask: int) -> None:
    """A folder keeps its set-group-id bit; another user's file keeps its mode."""
    with suppress(PermissionError, FileNotFoundError):
        before = path.lstat().st_mode
        if stat.S_ISDIR(before):
            path.chmod(stat.S_IMODE(before) & 0o7000 | 0o777 & ~mask)
        elif stat.S_ISREG(before):
            path.chmod(0o666 & ~mask)
