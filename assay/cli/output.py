"""Readings to standard output, in the form asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from assay.findings import Reading, Table
from assay.views import render


def print_readings(readings: Sequence[Reading], form: str, title: str = "") -> None:
    # here: lists do without these, and stay quick
    from assay import api, codec
    from assay.views import accuracies, benches, documents, tables, trainings

    unlike = api.fairness(reading.result for reading in readings)
    if form == "json":
        click.echo(codec.encode(documents.results_document(readings, unlike), indent=2))
    elif form == "csv":
        click.echo(render.comma_separated(documents.results_values(readings)))
    elif trainings.trained(readings):
        print_table(trainings.trainings_table(readings, title), form)
    elif accuracies.evaluated(readings):
        print_table(accuracies.accuracy_table(readings, title), form)
    elif benches.tell_their_own(readings):
        print_table(benches.told_table(readings), form)
    else:
        print_table(tables.results_table(readings, title, unlike), form)


def print_table(table: Table, form: str, in_file: int = 0) -> None:
    """`in_file`: columns of text where the output is no terminal; 0: as many as it takes."""
    if form == "json":
        from assay import codec

        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        click.echo(codec.encode({"schema": 1, "kind": "table", "rows": rows}, indent=2))
        return
    if form == "text":
        click.echo(render.text(table, _terminal_width() or in_file))
    else:
        click.echo(render.markdown(table) if form == "markdown" else render.comma_separated(table))


def _terminal_width() -> int:
    """0 where the output is no terminal: a file has room."""
    if not sys.stdout.isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns
