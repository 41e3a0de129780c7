"""Where assay keeps things: one place, chosen by argument, by ASSAY_HOME, or by default."""

from __future__ import annotations

import os
from pathlib import Path

from assay.core.files import user_path

Home = str | Path | None


def place(chosen: Home = None) -> str:
    """Of the store: `chosen`, else $ASSAY_HOME, else ~/.assay. A folder, or `NAME://PLACE`."""
    text = str(chosen or os.environ.get("ASSAY_HOME") or "~/.assay")
    return text if "://" in text else str(user_path(text))


def home(chosen: Home = None) -> Path:
    """The folder of runs, data and the doctor's findings on this machine."""
    return Path(place(chosen).rpartition("://")[2])


SHARED_CACHE = "ASSAY_SHARED_CACHE"  # a folder that the processes of one run share
