"""The store as a folder of pages that any static host can show."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Callable, Collection
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import click

from assay.cli import printing
from assay.cli.command import Keywords, click_command
from assay.core.contracts import Store
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_file
from assay.core.options import Argument, Flag, StoreUrl, accept_old_keywords
from assay.core.progress import ignore
from assay.core.records import Query
from assay.core.registry import open_store
from assay.core.settings import Home

if TYPE_CHECKING:
    from assay.web.page import Page

MARK = ".assay-site"  # says that a folder is ours to write into


@accept_old_keywords(home="store")
def publish(
    folder: Annotated[str | Path, Argument()],
    runs: Annotated[int, Flag("Newest runs that get pages of their own.")] = 50,
    store: StoreUrl = None,
    progress: Callable[[int, int], object] = ignore,
) -> Path:
    """Overview, every history and the newest `runs` with their results, as files.

    The folder has to be new, empty, or one that was published before. `progress` is given how many
    pages are written, and of how many.

    >>> assay.publish("site/")
    """
    from assay.commands.history.api import summarize_all
    from assay.web.html import STATIC  # lazy, as all pages: they need an extra

    site = _prepare_folder(Path(folder))
    with closing(open_store(store)) as opened:
        summarize_all(opened, Query())
        pages = _pages(opened, runs, store)
        for number, (at, page) in enumerate(pages.items(), 1):
            _write(site, at, _page_or_error(page), pages.keys())
            progress(number, len(pages))
    for file in (path for path in STATIC.rglob("*") if path.is_file()):
        _put(site / "static" / file.relative_to(STATIC), file.read_bytes())
    return site


def _page_or_error(make: Callable[[], Page]) -> Page:
    """A result that cannot be read says so on its page, and stops no other."""
    from assay.web.page import error_page

    try:
        return make()
    except AssayError as error:
        return error_page(404, str(error), error.hint)


def _prepare_folder(site: Path) -> Path:
    if site.exists() and not (site / MARK).exists() and (not site.is_dir() or any(site.iterdir())):
        raise UsageError(
            f"{site} is not empty, and was not made by assay publish.",
            hint="Choose a new folder: assay publish site/",
        )
    _put(site / MARK, b"")
    return site


def _pages(opened: Store, runs: int, store: Home) -> dict[str, Callable[[], Page]]:
    """Address → what makes its page: only one is in memory at a time."""
    from assay.web.pages import history, overview, result, routes, run
    from assay.web.pages.findings import Findings

    known = Findings()
    known.update(opened, sys.maxsize)
    pages: dict[str, Callable[[], Page]] = {
        route.path: partial(route.page, opened, {}, known) for route in routes() if route.published
    }
    for series in history.addresses(opened):
        pages[f"/history/{series[0]}/{series[1]}"] = partial(history.series_page, opened, *series)
    entries = opened.entries(Query(limit=overview.NEWEST))
    newest = list(dict.fromkeys(entry.run for entry in reversed(entries)))[:runs]
    for name in newest:
        pages[f"/runs/{name}"] = partial(run.run_page, opened, name)
        for entry in opened.entries(Query(ids=(name,))):
            pages[f"/runs/{entry.id}"] = partial(result.result_page, opened, entry.id)
    return pages


def _write(site: Path, at: str, page: Page, known: Collection[str]) -> None:
    """`/runs/X` is `runs/X/index.html`, so that its address needs no ending."""
    from assay.web.html import page_html
    from assay.web.page import page_json

    folder = at.strip("/")

    def address(to: str) -> str:
        path = to.partition("?")[0]
        if path != to or (path not in known and not path.startswith("/static/")):
            return ""
        target = path.strip("/") if path.startswith("/static/") else f"{path.strip('/')}/index.html"
        return quote(posixpath.relpath(target.strip("/"), folder or "."))

    target = site / folder
    html = page_html(page, address, here=at, json="index.json")
    _put(target / "index.html", html.encode())
    _put(target / "index.json", page_json(page, indent=0))


def _put(path: Path, data: bytes) -> None:
    with user_file(path, durable=False) as temporary:
        temporary.write_bytes(data)


@click_command(
    publish,
    epilog="""\b
Examples:
  assay publish site/
  assay publish site/ --runs 500 && python -m http.server --directory site --bind 127.0.0.1""",
)
def command(keywords: Keywords) -> None:
    """Write the dashboard as a folder of pages for any static host.

    Overview, every history, and the newest runs with their results, each with its JSON twin.
    """

    with click.progressbar(length=1, label="pages", file=sys.stderr) as bar:

        def progress(number: int, count: int) -> None:
            bar.length = count
            bar.update(1)

        site = publish(**keywords, progress=progress)
    printing.put(str(site))
