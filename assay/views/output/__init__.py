"""What a verb shows, as text in one of several formats: a file here is a format."""

from __future__ import annotations

import importlib
from pathlib import Path

from assay.core.findings import Output

FORMATS = tuple(sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py")))


def render(output: Output, form: str, width: int = 0) -> str:
    """`width`: columns that text may take; 0: as many as it needs."""
    text: str = importlib.import_module(f"assay.views.output.{form}").render(output, width)
    return text
