"""Comma-separated values, for a spreadsheet: numbers in SI units if available."""

from __future__ import annotations

import csv
import io

from assay.core.findings import Output, Table


def render(output: Output, width: int = 0) -> str:
    tables = (output.values,) if output.values else output.tables
    return "\n\n".join(_table(table) for table in tables)


def _table(table: Table) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(table.rows)
    return file.getvalue().rstrip("\n")
