"""JSON, for programs: the command's document, or the rows of its tables."""

from __future__ import annotations

from assay.core import codec
from assay.core.findings import Output
from assay.core.records import SCHEMA


def render(output: Output, width: int = 0) -> str:
    return codec.encode(output.document or _rows(output), indent=2).decode()


def _rows(output: Output) -> dict[str, object]:
    tables = [output.values] if output.values else output.tables
    rows = [dict(zip(t.columns, row, strict=True)) for t in tables for row in t.rows]
    return {"schema": SCHEMA, "kind": "table", "rows": rows}
