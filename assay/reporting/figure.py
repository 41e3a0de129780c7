"""Figures of matplotlib, which is loaded when one is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.core.errors import NotPossibleError
from assay.core.files import user_file

COLORS = {"warmup": "#b0b0b0", "steady": "#1f6fb4", "first": "#d0582a"}


def new_figure(height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NotPossibleError(
            "Figures need matplotlib, which is not installed here.",
            hint="pip install 'assay-lab[plot]'",
        ) from None
    return Figure(figsize=(8.0, height), dpi=120, layout="constrained")


def save_figure(figure: Any, path: Path) -> None:
    with user_file(path) as temporary:
        figure.savefig(temporary)
