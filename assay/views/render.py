"""A table as text, Markdown or CSV."""

from __future__ import annotations

import unicodedata

from assay.findings import Table


def text(table: Table) -> str:
    """Aligned columns for a terminal."""
    widths = [
        max(_width(cell) for cell in column)
        for column in zip(table.columns, *table.rows, strict=True)
    ]
    lines = [table.title] if table.title else []
    lines.append(_line(table, table.columns, widths))
    lines.append("  ".join("─" * width for width in widths))
    lines += [_line(table, row, widths) for row in table.rows]
    lines += [f"  note: {note}" for note in table.notes]
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


def _line(table: Table, cells: tuple[str, ...], widths: list[int]) -> str:
    padded = [
        " " * (width - _width(cell)) + cell
        if column in table.numeric
        else cell + " " * (width - _width(cell))
        for column, cell, width in zip(table.columns, cells, widths, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in cell)
