"""Where data lies: the folder ASSAY_DATA names, then the one assay keeps what it fetched in."""

from __future__ import annotations

import os
from pathlib import Path

from assay.core.errors import UsageError
from assay.core.files import user_path

Home = str | Path | None


def folders(home: Home = None) -> tuple[Path, ...]:
    """In the order they are searched."""
    chosen = os.environ.get("ASSAY_DATA")
    if not chosen:
        return (cache(home),)
    folder = user_path(chosen)
    if not folder.is_dir():
        raise UsageError(
            f"ASSAY_DATA is {chosen}, but there is no such folder.",
            hint="Make it, or unset ASSAY_DATA to use what assay fetched itself.",
        )
    return (folder, cache(home))


def cache(home: Home = None) -> Path:
    """`data` in the home folder; a worker knows the home by its environment alone."""
    chosen = home or os.environ.get("ASSAY_HOME") or "~/.assay"
    return user_path(chosen) / "data"
