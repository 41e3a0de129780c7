"""Text for a terminal: aligned columns, wrapped if too wide."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from assay.core.findings import Output, Table

GAP = "  "
MIN_COLUMN = 16  # characters; a column is neither wrapped nor cut below this
# Unbreakable pieces with the space before; a case may be broken after a comma: net:a=1,|b=2
_PIECE = re.compile(r"\s*([^\s,]+,*|,+)")


def render(output: Output, width: int = 0) -> str:
    return output.page or "\n\n".join(table_text(table, width) for table in output.tables)


def table_text(table: Table, width: int = 0) -> str:
    """Aligned columns. In tables wider than `width`, spare columns are dropped, then long names cut
    in the middle, then texts wrapped. Numbers are never broken."""
    table = _shorten(_drop_spare(table, width), width)
    columns = list(zip(table.columns, *table.rows, strict=True))
    widths = _fit_widths(columns, width, table.numeric)
    lines = [table.title] if table.title else []
    lines += _lines(table, table.columns, widths)
    lines.append(GAP.join("─" * width for width in widths))
    for row in table.rows:
        lines += _lines(table, row, widths)
    for note in table.notes:
        lines += _wrap(f"  note: {note}", width, indent="        ")
    return "\n".join(lines)


def _drop_spare(table: Table, limit: int) -> Table:
    for column in table.spare:
        columns = list(zip(table.columns, *table.rows, strict=True))
        if not limit or _total([max(map(_width, cells)) for cells in columns]) <= limit:
            return table
        if column in table.columns:
            table = _drop_column(table, table.columns.index(column))
    return table


def _drop_column(table: Table, index: int) -> Table:
    def rest(cells: tuple[str, ...]) -> tuple[str, ...]:
        return cells[:index] + cells[index + 1 :]

    return msgspec.structs.replace(
        table, columns=rest(table.columns), rows=tuple(rest(row) for row in table.rows)
    )


def _shorten(table: Table, limit: int) -> Table:
    """Cut names, the widest column first, until the table fits."""
    columns = list(zip(table.columns, *table.rows, strict=True))
    widths = [max(map(_width, cells)) for cells in columns]
    names = [index for index, column in enumerate(table.columns) if column in table.shortened]
    while limit and _total(widths) > limit:
        room = [index for index in names if widths[index] > MIN_COLUMN]
        if not room:
            break
        widths[max(room, key=lambda index: widths[index])] -= 1
    rows = (map(cut, row, widths) for row in table.rows)
    return msgspec.structs.replace(table, rows=tuple(tuple(row) for row in rows))


def cut(cell: str, width: int) -> str:
    """Start and end of a name that is too long."""
    if _width(cell) <= width:
        return cell
    tail = (width - 1) // 2
    return f"{_prefix(cell, width - 1 - tail)}…{_prefix(reversed(cell), tail)[::-1]}"


def _prefix(characters: Iterable[str], width: int) -> str:
    prefix = ""
    for character in characters:
        if _width(prefix + character) > width:
            break
        prefix += character
    return prefix


def _fit_widths(
    columns: Sequence[tuple[str, ...]], limit: int, numeric: AbstractSet[str]
) -> list[int]:
    """Reduce widths, the widest first, until the table fits; words are not broken."""
    widths = [max(map(_width, cells)) for cells in columns]
    minima = [
        width if cells[0] in numeric else max(MIN_COLUMN, *map(_longest_word, cells))
        for width, cells in zip(widths, columns, strict=True)
    ]
    while limit and _total(widths) > limit:
        room = [index for index in range(len(widths)) if widths[index] > minima[index]]
        if not room:
            break
        widths[max(room, key=lambda index: widths[index])] -= 1
    return widths


def _longest_word(cell: str) -> int:
    return max((_width(piece[1]) for piece in _PIECE.finditer(cell)), default=0)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _lines(table: Table, cells: tuple[str, ...], widths: list[int]) -> list[str]:
    """A row as one line, or several if a cell is wrapped."""
    parts = [_fold(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(len(part) for part in parts)
    return [
        GAP.join(
            _pad(part[row] if row < len(part) else "", width, column in table.numeric)
            for part, width, column in zip(parts, widths, table.columns, strict=True)
        ).rstrip()
        for row in range(height)
    ]


def _fold(cell: str, width: int) -> list[str]:
    lines = [""]
    for piece in _PIECE.finditer(cell):
        longer = lines[-1] + piece[0]
        if lines[-1] and _width(longer) > width:
            lines.append(piece[1])
        else:
            lines[-1] = longer
    return lines


def _wrap(cell: str, width: int, indent: str = "") -> list[str]:
    if not width or _width(cell) <= width:
        return [cell]
    import textwrap

    return textwrap.wrap(
        cell, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _pad(cell: str, width: int, right: bool) -> str:
    gap = " " * (width - _width(cell))
    return gap + cell if right else cell + gap


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in cell)
