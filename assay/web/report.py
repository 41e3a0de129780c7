"""Runs as one HTML file that needs no other: to mail, to keep, to put on any host."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from assay.cli import printing
from assay.cli.command import Keywords, click_command
from assay.core.contracts import Store
from assay.core.errors import AssayError, UsageError
from assay.core.files import check_output, write_user_file
from assay.core.options import Argument, Flag, StoreUrl, accept_old_keywords
from assay.core.records import Query
from assay.core.registry import open_store

if TYPE_CHECKING:
    from assay.web.page import Page

MAX_RESULTS = 60  # results that get a part of their own; all are in the tables


@accept_old_keywords(home="store")
def report(
    what: Annotated[str, Argument("RUN|LABEL", complete="runs")],
    output: Annotated[str | Path, Flag("File to write.", flags="-o --output")] = "report.html",
    store: StoreUrl = None,
) -> Path:
    """A run, or all runs of a label, with every result: one self-contained file.

    >>> assay.report("last", "report.html")
    """
    from assay.web.html import report_html  # lazy, as all pages: they need an extra

    path = _check_output(Path(output))
    with closing(open_store(store)) as opened:
        pages = _pages(opened, _runs(opened, what))
    known = {page.anchor for page in pages}

    def address(to: str) -> str:
        anchor = to.removeprefix("/runs/").replace("/", "-")
        return f"#{anchor}" if anchor in known else ""

    write_user_file(path, report_html(tuple(pages), address).encode())
    return path


def _check_output(path: Path) -> Path:
    if path.suffix.lower() not in {".html", ".htm"}:
        raise UsageError(f"'{path.name}' does not end in .html.", hint="Write -o report.html")
    if not path.absolute().parent.is_dir():
        raise UsageError(
            f"The folder {path.parent} is not there.", hint="Make it first, or choose another."
        )
    check_output(path)
    return path


def _runs(store: Store, what: str) -> list[str]:
    """A label's runs, or the run of that name."""
    labelled = store.entries(Query(label=what)) if what else []
    return list(dict.fromkeys(entry.run for entry in labelled)) or [store.find_run(what)]


def _pages(store: Store, runs: Sequence[str]) -> list[Page]:
    from assay.web.pages.result import result_page
    from assay.web.pages.run import run_page

    pages = []
    for run in runs:
        pages.append(_with_anchor(run_page(store, run), run))
        for entry in store.entries(Query(ids=(run,)))[: MAX_RESULTS // len(runs) or 1]:
            with suppress(AssayError):  # the run's own page says what cannot be read
                pages.append(_with_anchor(result_page(store, entry.id), entry.id.replace("/", "-")))
    return pages


def _with_anchor(page: Page, anchor: str) -> Page:
    return msgspec.structs.replace(page, anchor=anchor, form=None)


@click_command(
    report,
    epilog="""\b
Examples:
  assay report last -o report.html
  assay report nightly -o nightly.html         all runs labelled so""",
)
def command(keywords: Keywords) -> None:
    """Write a run, or all runs of a label, as one HTML file.

    It opens offline and loads nothing: mail it, attach it, put it on any host.
    """

    printing.put(str(report(**keywords)))
