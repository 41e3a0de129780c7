"""Markdown tables."""

from __future__ import annotations

from assay.core.findings import Output, Table


def render(output: Output, width: int = 0) -> str:
    return "\n\n".join(_table(table) for table in output.tables)


def _table(table: Table) -> str:
    rule = ["---:" if column in table.numeric else "---" for column in table.columns]
    rows = [table.columns, tuple(rule), *table.rows]
    lines = [f"### {table.title}", ""] if table.title else []
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    lines += ["", *(f"- {note}" for note in table.notes)] if table.notes else []
    return "\n".join(lines)
