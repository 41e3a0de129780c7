"""Stored results and their sizes → a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from assay.commands.results.api import PackReport
from assay.core.findings import Output, Table
from assay.core.records import SCHEMA, Result
from assay.core.units import human

RunSize = tuple[Result, int, int]  # with its files and bytes


def output(results: Sequence[RunSize], note: str) -> Output:
    total = sum(size for _, _, size in results)
    files = sum(count for _, count, _ in results)
    rows = tuple(
        (r.id, r.started[:16].replace("T", " "), r.case.key, r.status, r.label, human(size, "B"))
        for r, _, size in results
    )
    return Output(
        tables=(
            Table(
                columns=("result", "started", "case", "status", "label", "size"),
                rows=rows,
                numeric=frozenset({"size"}),
                shortened=frozenset({"case"}),
                notes=(f"{len(results)} results, {files} files, {human(total, 'B')}", note),
            ),
        ),
        document=_document(results, note),
    )


def pack_output(outcome: PackReport) -> Output:
    before, after = (human(size, "B") for size in (outcome.bytes, outcome.packed_bytes))
    notes = (f"{run} stays a folder: it is in use or changed meanwhile" for run in outcome.left)
    row = (str(outcome.runs), f"{outcome.files}, {before}", f"{len(outcome.packs)}, {after}")
    columns = ("runs", "files before", "files after")
    return Output(
        tables=(Table(columns=columns, rows=(row,), notes=tuple(notes)),),
        document={"schema": SCHEMA, "kind": "packed", **msgspec.to_builtins(outcome)},
    )


def _document(results: Sequence[RunSize], note: str) -> dict[str, Any]:
    rows = [
        {"id": r.id, "case": r.case.key, "label": r.label, "files": count, "bytes": size}
        for r, count, size in results
    ]
    return {"schema": SCHEMA, "kind": "kept-files", "results": rows, "note": note}
