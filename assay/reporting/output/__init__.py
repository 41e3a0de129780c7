"""Output of a command as text in one of several formats: each file here is a format."""

from __future__ import annotations

import importlib
from pathlib import Path

import msgspec

from assay.core.findings import Output, Table
from assay.reporting.terminal import plain

_UNESCAPED = {"json", "csv"}  # without escapes
FORMATS = tuple(sorted(file.stem for file in Path(__file__).parent.glob("[!_]*.py")))


def render(output: Output, format_name: str, width: int = 0) -> str:
    """`width`: of the terminal, in columns; 0: unlimited."""
    if format_name not in _UNESCAPED:
        output = msgspec.structs.replace(output, tables=tuple(map(_escape_cells, output.tables)))
    text: str = importlib.import_module(f"{__name__}.{format_name}").render(output, width)
    return text if format_name in _UNESCAPED else plain(text)


def _escape_cells(table: Table) -> Table:
    """Escape cells and join their lines before the layout, so that widths are right."""
    rows = (tuple(plain(cell).replace("\n", " ") for cell in row) for row in table.rows)
    return msgspec.structs.replace(table, rows=tuple(rows))
