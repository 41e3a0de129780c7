"""Where assay keeps things: one folder, chosen by argument, by ASSAY_HOME, or by default."""

from __future__ import annotations

import os
from pathlib import Path


def home(chosen: str | Path | None = None) -> Path:
    """The folder of runs and index: `chosen`, else $ASSAY_HOME, else ~/.assay."""
    return Path(chosen or os.environ.get("ASSAY_HOME") or "~/.assay").expanduser()
