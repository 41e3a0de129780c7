"""What a verb shows, to standard output, in the format that was chosen."""

from __future__ import annotations

import sys

import click

from assay.core.findings import Output, Table
from assay.views.output import render

READABLE = 120  # columns of a text that is piped into a pager or a file


def show(output: Output, form: str, in_file: int = 0) -> None:
    """`in_file`: columns of text where the output is no terminal; 0: as many as it takes."""
    text = render(output, form, _terminal_width() or in_file)
    if text:
        click.echo(text)


def show_table(table: Table, form: str, in_file: int = 0) -> None:
    show(Output(tables=(table,)), form, in_file)


def _terminal_width() -> int:
    """0 where the output is no terminal: a file has room."""
    if not sys.stdout.isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns
