"""A table as text, Markdown or CSV."""

from __future__ import annotations

import unicodedata

from assay.findings import Table

GAP = "  "
NARROWEST = 16  # letters; a column is not wrapped below this


def text(table: Table, width: int = 0) -> str:
    """Aligned columns for a terminal; a table wider than `width` has its widest columns wrapped."""
    columns = list(zip(table.columns, *table.rows, strict=True))
    widths = _fitted([max(_width(cell) for cell in column) for column in columns], width)
    lines = [table.title] if table.title else []
    lines += _lines(table, table.columns, widths)
    lines.append(GAP.join("─" * width for width in widths))
    for row in table.rows:
        lines += _lines(table, row, widths)
    for note in table.notes:
        lines += _wrapped(f"  note: {note}", width, indent="        ")
    return "\n".join(lines)


def markdown(table: Table) -> str:
    rule = ["---:" if column in table.numeric else "---" for column in table.columns]
    rows = [table.columns, tuple(rule), *table.rows]
    lines = [f"### {table.title}", ""] if table.title else []
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines += ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    return "\n".join(lines)


def comma_separated(table: Table) -> str:
    import csv
    import io

    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return file.getvalue().rstrip("\n")


def _fitted(widths: list[int], most: int) -> list[int]:
    """Widths made narrower, the widest first, until the table fits; never under NARROWEST."""
    fitted = list(widths)
    while most and sum(fitted) + len(GAP) * (len(fitted) - 1) > most and max(fitted) > NARROWEST:
        fitted[fitted.index(max(fitted))] -= 1
    return fitted


def _lines(table: Table, cells: tuple[str, ...], widths: list[int]) -> list[str]:
    """A row as one line, or several where a cell had to be wrapped."""
    parts = [_wrapped(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(len(part) for part in parts)
    return [
        GAP.join(
            _padded(part[row] if row < len(part) else "", width, column in table.numeric)
            for part, width, column in zip(parts, widths, table.columns, strict=True)
        ).rstrip()
        for row in range(height)
    ]


def _wrapped(cell: str, width: int, indent: str = "") -> list[str]:
    if not width or _width(cell) <= width:
        return [cell]
    import textwrap

    return textwrap.wrap(cell, width, subsequent_indent=indent)


def _padded(cell: str, width: int, right: bool) -> str:
    gap = " " * (width - _width(cell))
    return gap + cell if right else cell + gap


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in cell)
