"""Datasets: which are known, where they are, how to have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from assay.cli import options, printing
from assay.cli.progress import write_over
from assay.core import settings
from assay.core.findings import Table
from assay.core.progress import ignore
from assay.core.settings import Home
from assay.core.units import human
from assay.reporting.terminal import plain

if TYPE_CHECKING:
    from assay.datasets.library import Held


def known_data(home: Home = None) -> list[Held]:
    """Every dataset that is known: where it is here, or how to get it."""
    from assay.datasets.library import held

    return held(settings.home(home))


def fetch_data(
    *names: str, home: Home = None, progress: Callable[[str, int, int | None], None] = ignore
) -> list[str]:
    """Have these datasets, from local files or by download; the places they are in."""
    from assay.datasets.fetch import fetch

    place = settings.home(home)
    return [found for name in names for found in fetch(name, place, progress)]


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


@command.command("list")
@options.home
@options.form
def list_(home: str | None, form: str) -> int:
    """Show every dataset: where it is, or how to get it."""
    found = known_data(home)
    rows = tuple(
        (
            *(one.name, one.summary, str(one.classes)),
            *(str(one.sizes.get(split, "")) for split in ("train", "test", "tune")),
            *(one.place, one.note),
        )
        for one in found
    )
    columns = ("dataset", "what it is", "classes", "train", "test", "tune", "place", "note")
    numeric = frozenset(columns[2:6])
    printing.show_table(Table(columns=columns, rows=rows, numeric=numeric), form)
    return 0


@command.command("fetch")
@click.argument("names", nargs=-1, required=True, metavar="DATASET…")
@options.home
def fetch(names: tuple[str, ...], home: str | None) -> int:
    """Download DATASET…, unless they are here already; files are checked and kept.

    \b
    Example:
      assay data fetch mnist cifar10
    """
    line = _Line()
    try:
        for place in fetch_data(*names, home=home, progress=line):
            printing.put(str(place))
    finally:
        line.end()
    return 0


class _Line:
    """How far a download is: written over on a terminal, elsewhere once for each file."""

    def __init__(self) -> None:
        self._file = ""

    def __call__(self, file: str, done: int, total: int | None) -> None:
        if options.to_terminal():
            share = f" of {human(total, 'B')}, {done / total:.0%}" if total else ""
            write_over(f"\r\033[K{plain(file)}  {human(done, 'B')}{share}")
        elif file != self._file:
            options.say(f"fetching {file} …")
        self._file = file

    def end(self) -> None:
        if self._file and options.to_terminal():
            options.say("")
