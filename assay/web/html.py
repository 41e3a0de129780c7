"""Pages → HTML. Every value is escaped there or in `tables`; drawings alone are markup."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

from assay.core.errors import NotPossibleError

try:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup, escape
except ImportError:
    raise NotPossibleError(
        "Pages need jinja2, which is not installed.", hint="pip install 'assay-lab[web]'"
    ) from None

from assay.web.page import Cell, Grid, Page
from assay.web.pages import routes

HERE = Path(__file__).parent
STATIC = HERE / "static"

# address in the dashboard → what a page writes for it; "" where there is no such page
Address = Callable[[str], str]


def page_html(
    page: Page, address: Address = str, *, here: str = "", navigation: bool = True, json: str = ""
) -> str:
    """A page that reads style and script from `/static`. `json` is the address of its twin."""
    return _render((page,), address, here, navigation, json, head=Markup())


def report_html(pages: tuple[Page, ...], address: Address) -> str:
    """Pages in one self-contained file."""
    style, script = ((STATIC / name).read_text() for name in ("assay.css", "assay.js"))
    head = Markup(
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "img-src data:; style-src '{}'; script-src '{}'\">\n<style>{}</style>\n<script>{}</script>"
    ).format(_digest(style), _digest(script), Markup(style), Markup(script))
    return _render(pages, address, "", False, "", head=head)


def _render(
    pages: tuple[Page, ...],
    address: Address,
    here: str,
    navigation: bool,
    json: str,
    head: Markup,
) -> str:
    html: str = (
        _environment()
        .get_template("page.html")
        .render(
            pages=pages,
            address=address,
            table=functools.partial(table_html, address=address),
            here=here,
            navigation=[(page.path, page.title) for page in routes() if page.title]
            if navigation
            else [],
            json=json,
            head=head,
        )
    )
    return html


@functools.cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


WRAP_LENGTH = 48  # characters from which on a cell may wrap
NARROW_LENGTH = 16  # likewise in a narrow window, also inside a word
# columns that a narrow window shows of no table
MINOR = frozenset(
    {
        *("95 % interval", "98 % interval", "pairs", "heats", "estimator", "n", "samples"),
        *("id", "values", "epochs", "images", "expected", "training", "to the expected"),
    }
)


def table_html(grid: Grid, address: Callable[[str], str]) -> Markup:
    """Every text is escaped here; drawings alone are markup already."""
    if not grid.rows:
        return Markup('<p class="empty">{}</p>').format(grid.empty)
    classes = [
        " ".join(["number"] * (column in grid.numeric) + ["minor"] * (column in grid.minor | MINOR))
        for column in grid.columns
    ]
    heads = Markup().join(
        Markup('<th scope="col"{}>{}</th>').format(
            Markup(' class="{}"').format(style) if style else "", column
        )
        for column, style in zip(grid.columns, classes, strict=True)
    )
    rows = "\n".join(
        f"<tr>{''.join(map(_cell, row, classes, [address] * len(row)))}</tr>" for row in grid.rows
    )
    return Markup(
        '<div class="wide" tabindex="0" role="region" aria-label="table"><table>\n'
        "<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table></div>"
    ).format(heads, Markup(rows))


def _cell(cell: Cell, style: str, address: Callable[[str], str]) -> str:
    words = f"{style} {cell.style}".strip()
    if cell.style == "heat":
        words += f" heat{cell.heat}"
    if len(cell.text) > WRAP_LENGTH:
        words = f"{words} long".strip()
    elif len(cell.text) > NARROW_LENGTH and "number" not in style:
        words = f"{words} name".strip()
    named = f' class="{escape(words)}"' if words else ""
    sort = f' data-sort="{cell.sort!r}"' if cell.sort is not None else ""
    to = address(cell.to) if cell.to else ""
    text = f'<a href="{escape(to)}">{escape(cell.text)}</a>' if to else escape(cell.text)
    return f"<td{named}{sort}>{text}{cell.drawing}</td>"
