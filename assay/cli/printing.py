"""Print the output of a command to standard output in the chosen format."""

from __future__ import annotations

import sys

import click

from assay.core import codec
from assay.core.findings import Output, Table
from assay.reporting.colors import color_verdicts, has_color
from assay.reporting.output import render
from assay.reporting.terminal import plain

READABLE = 120  # columns of a text that is piped into a pager or a file


def show(output: Output, form: str, in_file: int = 0) -> None:
    """`in_file`: columns of text where the output is no terminal; 0: as many as it takes."""
    text = render(output, form, terminal_width() or in_file)
    if form == "text" and has_color(sys.stdout):
        text = color_verdicts(text)
    if text:  # CSV has no way to spell a control character: only a file gets it as it is
        click.echo(plain(text) if form == "csv" and sys.stdout.isatty() else text)


def put_verdict(line: str) -> None:
    """Print the line that a run begins with, if it has one."""
    if line:
        show(Output(page=line), "text")


def put(*lines: str) -> None:
    """Print lines that are no table, such as names and paths."""
    for line in lines:
        click.echo(plain(line))


def put_document(document: object, indent: int = 2) -> None:
    """Print a document of an older tool as JSON."""
    click.echo(codec.encode(document, indent=indent))


def put_file(data: bytes) -> None:
    """A file of another tool: as it is, but for a terminal."""
    click.echo(plain(data.decode(errors="replace")) if sys.stdout.isatty() else data, nl=False)


def show_table(table: Table, form: str, in_file: int = 0) -> None:
    show(Output(tables=(table,)), form, in_file)


def terminal_width() -> int:
    """Columns of the terminal; 0 for a file, which has no limit."""
    if not sys.stdout.isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns
