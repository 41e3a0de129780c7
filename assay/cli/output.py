"""Readings to standard output, in the form asked for."""

from __future__ import annotations

from collections.abc import Sequence

import click

from assay import codec
from assay.findings import Reading, Table
from assay.views import documents, render, tables


def print_readings(readings: Sequence[Reading], form: str, title: str = "") -> None:
    if form == "json":
        click.echo(codec.encode(documents.results_document(readings), indent=2))
    elif form == "csv":
        click.echo(render.comma_separated(documents.results_values(readings)))
    else:
        print_table(tables.results_table(readings, title), form)


def print_table(table: Table, form: str) -> None:
    if form == "json":
        rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        click.echo(codec.encode({"schema": 1, "kind": "table", "rows": rows}, indent=2))
        return
    views = {"text": render.text, "markdown": render.markdown, "csv": render.comma_separated}
    click.echo(views[form](table))
