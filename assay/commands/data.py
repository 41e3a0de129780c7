"""List and download datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import click

from assay.cli import options, printing
from assay.cli.command import Keywords, click_command
from assay.cli.progress import OverwrittenLine
from assay.core import settings
from assay.core.findings import Table
from assay.core.options import Argument, Format, StoreUrl, accept_old_keywords
from assay.core.progress import ignore
from assay.core.units import human
from assay.reporting.terminal import plain

if TYPE_CHECKING:
    from assay.datasets.library import LocalDataset


@accept_old_keywords(home="store")
def list_datasets(store: StoreUrl = None) -> list[LocalDataset]:
    """Every known dataset: its path, or how to get it."""
    from assay.datasets.library import local_datasets

    return local_datasets(settings.home(store))


@accept_old_keywords(home="store")
def fetch_data(
    *names: str,
    store: StoreUrl = None,
    progress: Callable[[str, int, int | None], None] = ignore,
) -> list[str]:
    """Find datasets in local files or download them; returns their paths."""
    from assay.datasets.fetch import fetch

    home = settings.home(store)
    return [path for name in names for path in fetch(name, home, progress)]


@click.group(
    epilog="""\b
Examples:
  assay data list
  assay data fetch mnist cifar10 model_params"""
)
def command() -> None:
    """Show or fetch datasets.

    Files in the folder that ASSAY_DATA names are used first, then those that were fetched.
    """


@click_command(list_datasets, group=command, name="list")
def list_(keywords: Keywords, format: Format = "text") -> int:
    """Show every dataset: where it is, or how to get it."""
    rows = tuple(
        (
            *(dataset.name, dataset.summary, str(dataset.classes)),
            *(str(dataset.sizes.get(split, "")) for split in ("train", "test", "tune")),
            *(dataset.place, dataset.note),
        )
        for dataset in list_datasets(**keywords)
    )
    columns = ("dataset", "what it is", "classes", "train", "test", "tune", "place", "note")
    numeric = frozenset(columns[2:6])
    printing.show_table(Table(columns=columns, rows=rows, numeric=numeric), format)
    return 0


@click_command(fetch_data, group=command, name="fetch")
def fetch(
    names: Annotated[tuple[str, ...], Argument("DATASET…", required=True)], keywords: Keywords
) -> int:
    """Download DATASET…, unless already present; checksums are verified.

    \b
    Example:
      assay data fetch mnist cifar10
    """
    line = _Line()
    try:
        for path in fetch_data(*names, **keywords, progress=line):
            printing.put(str(path))
    finally:
        line.end()
    return 0


class _Line:
    """Progress of a download: updated in place on a terminal, else once per file."""

    def __init__(self) -> None:
        self._file = ""
        self._line = OverwrittenLine()

    def __call__(self, file: str, done: int, total: int | None) -> None:
        if options.is_terminal():
            share = f" of {human(total, 'B')}, {done / total:.0%}" if total else ""
            self._line.show(f"{plain(file)}  {human(done, 'B')}{share}")
        elif file != self._file:
            options.print_message(f"fetching {file} …")
        self._file = file

    def end(self) -> None:
        if self._file and options.is_terminal():
            options.print_message("")
