"""What a page is before it is HTML: a title, its command, its JSON document, and sections."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from markupsafe import Markup

from assay.core import codec
from assay.core.findings import Table
from assay.core.records import SCHEMA

Mood = Literal["", "good", "bad", "doubt"]
MOODS: dict[str, Mood] = {  # first word of a verdict, a finding or a status
    **dict.fromkeys(("faster", "fastest", "improvement", "fine", "pass"), "good"),
    **dict.fromkeys(("slower", "regression", "regressions", "failed", "crashed", "timeout"), "bad"),
    **dict.fromkeys(("out-of-memory", "wrong", "fail"), "bad"),
    **dict.fromkeys(("cannot-tell", "undecided", "suspect", "suspects", "interrupted"), "doubt"),
    "ahead": "doubt",
}
HEAT_STEP = 0.05  # a ratio 5 % away from 1 is one shade


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """Another page, by its address in the dashboard; a site or report writes it its own way."""

    text: str
    to: str


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a table. `sort` is what its column is sorted by, where the text would mislead."""

    text: str = ""
    to: str = ""  # address of the page it leads to
    drawing: Markup = Markup()
    sort: float | None = None
    style: Literal["", "good", "bad", "doubt", "muted", "heat"] = ""
    heat: int = 0  # -4 (faster) to 4 (slower), with the style `heat`


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """A table that can be sorted and filtered."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numeric: frozenset[str] = frozenset()
    minor: frozenset[str] = frozenset()  # columns that a narrow window does not show
    empty: str = "Nothing to show."


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Names and values."""

    items: tuple[tuple[str, str], ...]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a page below its own heading. Whatever of it is empty is left out."""

    title: str
    text: str = ""
    grid: Grid | None = None
    chart: Markup = Markup()
    facts: Facts | None = None
    notes: tuple[str, ...] = ()
    log: str = ""  # shown as it is
    links: tuple[Link, ...] = ()
    closed: bool = False  # folded until it is opened


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page of the dashboard, a site or a report."""

    title: str
    lead: str = ""  # what the page says, in one sentence
    mood: Mood = ""  # of that sentence
    command: str = ""  # prints the same in a terminal
    document: Any = None  # its JSON twin, or a function that makes it
    sections: tuple[Section, ...] = ()
    form: Form | None = None
    anchor: str = ""  # its place in a report of several pages
    status: int = 200


def page_json(page: Page, indent: int = 2) -> bytes:
    """The page as JSON."""
    document = page.document() if callable(page.document) else page.document
    return codec.encode(document, indent=indent)


def error_page(status: int, sentence: str, hint: str) -> Page:
    document = {"schema": SCHEMA, "kind": "error", "error": sentence, "hint": hint}
    return Page(title=sentence, lead=hint, status=status, document=document)


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """One field of a page's form: a list to choose from, or a text."""

    name: str
    label: str
    value: str = ""
    choices: tuple[tuple[str, str], ...] = ()  # value and its text; none: any text


class Form(msgspec.Struct, frozen=True, kw_only=True):
    """The form of a page, sent as a query, so that every view has an address."""

    action: str
    fields: tuple[Choice, ...]


def mood_of(text: str) -> Mood:
    """Of a verdict: `slower` or `slower: …`; nothing of another text."""
    words = re.split(r"[:,;] ?| (?=so far|found|confirmed|series)", text.strip(), maxsplit=1)[0]
    count, _, rest = words.partition(" ")
    return MOODS.get(rest if count.isdecimal() else words, "")


def table_grid(table: Table, links: Sequence[Sequence[str]] = ()) -> Grid:
    """A table of `views` as it is; `links` gives rows the address of a cell's page, or ""."""
    rows = [
        tuple(
            Cell(text=text, to=links[number][column] if links else "", style=mood_of(text))
            for column, text in enumerate(row)
        )
        for number, row in enumerate(table.rows)
    ]
    minor = frozenset(table.spare) - {"status"}
    return Grid(columns=table.columns, rows=tuple(rows), numeric=table.numeric, minor=minor)


def heat_cell(ratio: float | None) -> Cell:
    """A ratio of times, the darker the further from 1; nothing of none."""
    if ratio is None or not 0 < ratio < math.inf:
        return Cell()
    shade = max(-4, min(4, round(math.log(ratio) / HEAT_STEP)))
    return Cell(text=f"{ratio:.3f}", sort=ratio, style="heat", heat=shade)


def table_section(table: Table, title: str = "") -> Section:
    """A table of `views` with its title and notes."""
    return Section(title=title or table.title, grid=table_grid(table), notes=table.notes)
