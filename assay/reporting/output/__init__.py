"""What a verb shows, as text in one of several formats: a file here is a format."""

from __future__ import annotations

import importlib
from pathlib import Path

import msgspec

from assay.core.findings import Output, Table
from assay.reporting.terminal import plain

_FOR_PROGRAMS = {"json", "csv"}  # they keep what there was
FORMATS = tuple(sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py")))


def render(output: Output, form: str, width: int = 0) -> str:
    """`width`: columns that text may take; 0: as many as it needs."""
    if form not in _FOR_PROGRAMS:
        output = msgspec.structs.replace(output, tables=tuple(map(_gated, output.tables)))
    text: str = importlib.import_module(f"{__name__}.{form}").render(output, width)
    return text if form in _FOR_PROGRAMS else plain(text)


def _gated(table: Table) -> Table:
    """Before it is laid out: a cell is one line, and as wide as it will look."""
    rows = (tuple(plain(cell).replace("\n", " ") for cell in row) for row in table.rows)
    return msgspec.structs.replace(table, rows=tuple(rows))
