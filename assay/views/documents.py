"""Readings → the JSON document that every command prints with `--format json`, and CSV rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from assay.findings import Reading, Table, Unlikeness
from assay.records import SCHEMA


def results_document(
    readings: Sequence[Reading], unlike: Sequence[Unlikeness] = ()
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "kind": "results",
        "results": [_result(reading) for reading in readings],
        "fairness": msgspec.to_builtins(unlike),
    }


def results_values(readings: Sequence[Reading]) -> Table:
    """Plain SI numbers for a spreadsheet: a row for each quantity of each result."""
    return Table(
        columns=("id", "case", "status", "metric", "value", "low", "high", "unit", "n"),
        rows=tuple(
            (
                *(r.result.id, r.result.case.key, r.result.status, name),
                *(repr(q.value), repr(q.low), repr(q.high), q.unit, str(q.n)),
            )
            for r in readings
            for name, q in r.summary.quantities.items()
        ),
    )


def _result(reading: Reading) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(reading.result)
    kept = ("id", "status", "reason", "started", "seconds", "case", "procedure", "items", "facts")
    return {
        **{name: plain[name] for name in kept},
        "summary": msgspec.to_builtins(reading.summary.quantities),
        "checks": msgspec.to_builtins(reading.summary.checks),
        "doubts": msgspec.to_builtins(reading.summary.doubts),
        "peaks": plain["peaks"],
        "environment": plain["environment"],
        "workload_version": plain["workload_version"],
        "label": plain["label"],
        "tags": plain["tags"],
    }
