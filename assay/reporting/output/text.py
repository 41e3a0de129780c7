"""Text for a terminal: aligned columns, wrapped where they are too wide."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

import msgspec

from assay.core.findings import Output, Table

GAP = "  "
NARROWEST = 16  # letters; a column is neither wrapped nor cut below this
# What is never broken, and the space before it; a case may be broken after a comma: net:a=1,|b=2
_PIECE = re.compile(r"\s*([^\s,]+,*|,+)")


def render(output: Output, width: int = 0) -> str:
    return output.page or "\n\n".join(table_text(table, width) for table in output.tables)


def table_text(table: Table, width: int = 0) -> str:
    """Aligned columns; of a table wider than `width`, spare columns go, then long names are cut in
    the middle, then texts are wrapped. A number stays whole, with its unit."""
    table = _shortened(_without_spare(table, width), width)
    columns = list(zip(table.columns, *table.rows, strict=True))
    widths = _fitted(columns, width, table.numeric)
    lines = [table.title] if table.title else []
    lines += _lines(table, table.columns, widths)
    lines.append(GAP.join("─" * width for width in widths))
    for row in table.rows:
        lines += _lines(table, row, widths)
    for note in table.notes:
        lines += _wrapped(f"  note: {note}", width, indent="        ")
    return "\n".join(lines)


def _without_spare(table: Table, most: int) -> Table:
    for column in table.spare:
        columns = list(zip(table.columns, *table.rows, strict=True))
        if not most or _total([max(map(_width, cells)) for cells in columns]) <= most:
            return table
        if column in table.columns:
            table = _without(table, table.columns.index(column))
    return table


def _without(table: Table, place: int) -> Table:
    def rest(cells: tuple[str, ...]) -> tuple[str, ...]:
        return cells[:place] + cells[place + 1 :]

    return msgspec.structs.replace(
        table, columns=rest(table.columns), rows=tuple(rest(row) for row in table.rows)
    )


def _shortened(table: Table, most: int) -> Table:
    """Names cut, the widest column first, until the table fits."""
    columns = list(zip(table.columns, *table.rows, strict=True))
    widths = [max(map(_width, cells)) for cells in columns]
    names = [at for at, column in enumerate(table.columns) if column in table.shortened]
    while most and _total(widths) > most:
        room = [at for at in names if widths[at] > NARROWEST]
        if not room:
            break
        widths[max(room, key=lambda at: widths[at])] -= 1
    rows = (map(cut, row, widths) for row in table.rows)
    return msgspec.structs.replace(table, rows=tuple(tuple(row) for row in rows))


def cut(cell: str, width: int) -> str:
    """Beginning and end of a name that is too long: they tell it from others."""
    if _width(cell) <= width:
        return cell
    tail = (width - 1) // 2
    return f"{_prefix(cell, width - 1 - tail)}…{_prefix(reversed(cell), tail)[::-1]}"


def _prefix(letters: Iterable[str], width: int) -> str:
    found = ""
    for letter in letters:
        if _width(found + letter) > width:
            break
        found += letter
    return found


def _fitted(columns: Sequence[tuple[str, ...]], most: int, numeric: AbstractSet[str]) -> list[int]:
    """Widths made narrower, the widest first, until the table fits; no word is ever broken."""
    fitted = [max(map(_width, cells)) for cells in columns]
    least = [
        whole if cells[0] in numeric else max(NARROWEST, *map(_longest_word, cells))
        for whole, cells in zip(fitted, columns, strict=True)
    ]
    while most and _total(fitted) > most:
        room = [at for at in range(len(fitted)) if fitted[at] > least[at]]
        if not room:
            break
        fitted[max(room, key=lambda at: fitted[at])] -= 1
    return fitted


def _longest_word(cell: str) -> int:
    return max((_width(piece[1]) for piece in _PIECE.finditer(cell)), default=0)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _lines(table: Table, cells: tuple[str, ...], widths: list[int]) -> list[str]:
    """A row as one line, or several where a cell had to be wrapped."""
    parts = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(len(part) for part in parts)
    return [
        GAP.join(
            _padded(part[row] if row < len(part) else "", width, column in table.numeric)
            for part, width, column in zip(parts, widths, table.columns, strict=True)
        ).rstrip()
        for row in range(height)
    ]


def _folded(cell: str, width: int) -> list[str]:
    lines = [""]
    for piece in _PIECE.finditer(cell):
        longer = lines[-1] + piece[0]
        if lines[-1] and _width(longer) > width:
            lines.append(piece[1])
        else:
            lines[-1] = longer
    return lines


def _wrapped(cell: str, width: int, indent: str = "") -> list[str]:
    if not width or _width(cell) <= width:
        return [cell]
    import textwrap

    return textwrap.wrap(
        cell, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _padded(cell: str, width: int, right: bool) -> str:
    gap = " " * (width - _width(cell))
    return gap + cell if right else cell + gap


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in cell)
