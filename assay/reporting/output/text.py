"""Text for a terminal: aligned columns; a table that is too wide is folded, or shown as a list."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

import msgspec

from assay.core.findings import Output, Table

GAP = "  "
MIN_COLUMN = 16  # characters; a column is neither wrapped nor cut below this
# Unbreakable pieces with the space before; a case may be broken after a comma: net:a=1,|b=2
_PIECE = re.compile(r"\s*([^\s,]+,*|,+)")
# Smaller ones, where those do not fit: net:|a=1|@torch:|b=2, a/|path; no id and no 1/20 is broken
_PART = re.compile(r"\s*(@?(?:(?<=\d)/|(?<=-\w{4})/|[^\s,@:/])*(?:,+|:+|/+)?)(?<!^)")


def render(output: Output, width: int = 0) -> str:
    if output.page:
        return _wrap_lines(output.page, width)
    tables = [table_text(table, width) for table in output.tables]
    return "\n\n".join([_wrap_lines(output.header, width), *tables] if output.header else tables)


def table_text(table: Table, width: int = 0) -> str:
    """Aligned columns. In tables wider than `width`, spare columns are dropped, then long names cut
    in the middle, then texts folded; a table that is still too wide becomes a list of its rows.
    Numbers are never broken."""
    table = _shorten(_drop_spare(table, width), width)
    widths, pattern = _fit_widths(list(zip(table.columns, *table.rows, strict=True)), table, width)
    lines = _wrap(table.title, width) if table.title else []
    if width and _total(widths) > width:
        lines += [line for row in table.rows for line in _list_row(table, row, width)]
    else:
        lines += _lines(table, table.columns, widths, pattern)
        lines.append(GAP.join("─" * width for width in widths))
        for row in table.rows:
            lines += _lines(table, row, widths, pattern)
    for note in table.notes:
        lines += _wrap(f"  note: {note}", width, indent="        ")
    return "\n".join(lines)


def _list_row(table: Table, row: Sequence[str], width: int) -> list[str]:
    """A row as a heading with a line per column; a column without a name is part of the heading."""
    start = 2 if not table.columns[0] and len(row) > 1 else 1
    first, rest = GAP.join(filter(None, row[:start])), row[start:]
    title = max(_width(column) for column in table.columns)
    room = max(1, width - title - 2 * len(GAP))
    lines = _break(_fold(first, width), width)
    for column, cell in zip(table.columns[start:], rest, strict=True):
        for number, part in enumerate(_break(_fold(cell, room), room) if cell else ()):
            lines.append(f"{GAP}{_pad('' if number else column, title, False)}{GAP}{part}")
    return lines


def _break(lines: Sequence[str], width: int) -> list[str]:
    """Lines of at most `width`: words that are longer are broken."""
    return [
        line[start : start + width] for line in lines for start in range(0, len(line) or 1, width)
    ]


def _drop_spare(table: Table, limit: int) -> Table:
    for column in table.spare:
        if not limit or _total(_full_widths(table)) <= limit:
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
    widths = _full_widths(table)
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


def _full_widths(table: Table) -> list[int]:
    """Widths without folding a cell; headings of numbers are folded."""
    columns = list(zip(table.columns, *table.rows, strict=True))
    return [
        max(_longest_word(title) if title in table.numeric else _width(title), *map(_width, cells))
        if cells
        else _width(title)
        for title, *cells in columns
    ]


def _fit_widths(
    columns: Sequence[tuple[str, ...]], table: Table, limit: int
) -> tuple[list[int], re.Pattern[str]]:
    """Reduce widths, the widest first, until the table fits, and what a text is folded into: words,
    or parts of names if words are too long."""
    widths = [max(map(_width, cells)) for cells in columns]
    for pattern, floor in ((_PIECE, MIN_COLUMN), (_PART, MIN_COLUMN // 2)):
        widths = [max(map(_width, cells)) for cells in columns]
        minima = [
            max((_longest_word(cells[0]), *map(_width, cells[1:])))
            if cells[0] in table.numeric
            else max(min(floor, width), *(_longest_word(cell, pattern) for cell in cells))
            for width, cells in zip(widths, columns, strict=True)
        ]
        while limit and _total(widths) > limit:
            room = [index for index in range(len(widths)) if widths[index] > minima[index]]
            if not room:
                break
            widths[max(room, key=lambda index: widths[index])] -= 1
        if not limit or _total(widths) <= limit:
            return widths, pattern
    return widths, _PART


def _longest_word(cell: str, pattern: re.Pattern[str] = _PIECE) -> int:
    return max((_width(piece[1]) for piece in pattern.finditer(cell)), default=0)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _lines(
    table: Table, cells: tuple[str, ...], widths: list[int], pattern: re.Pattern[str]
) -> list[str]:
    """A row as one line, or several if a cell is wrapped."""
    parts = [_fold(cell, width, pattern) for cell, width in zip(cells, widths, strict=True)]
    height = max(len(part) for part in parts)
    return [
        GAP.join(
            _pad(part[row] if row < len(part) else "", width, column in table.numeric)
            for part, width, column in zip(parts, widths, table.columns, strict=True)
        ).rstrip()
        for row in range(height)
    ]


def _fold(cell: str, width: int, pattern: re.Pattern[str] = _PART) -> list[str]:
    lines = [""]
    for piece in pattern.finditer(cell) if _width(cell) > width else ():
        longer = lines[-1] + piece[0]
        if lines[-1] and _width(longer) > width:
            lines.append(piece[1])
        else:
            lines[-1] = longer
    return lines if lines != [""] else [cell]


def _wrap_lines(text: str, width: int) -> str:
    """Lines of a page; the rest of a wrapped one is indented further than its beginning."""
    return "\n".join(
        part
        for line in text.split("\n")
        for part in _wrap(line, width, indent=" " * (len(line) - len(line.lstrip()) + 2))
    )


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
