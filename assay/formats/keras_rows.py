"""Rows of keras-benchmarks' BigQuery table: the time of some epochs of one model on one backend."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from assay.core.formats import Content, Format
from assay.core.records import Environment, Result
from assay.formats import foreign

KIND = "keras-benchmarks"
_PLACED = ("test_name", "recorded_time", "metrics", "keras_backend", "keras_version", "cpu_info")


def matches(content: Content) -> bool:
    found = _rows(content)
    return bool(found) and all(_is_row(row) for row in found)


def read(content: Content) -> Sequence[Result]:
    return [_result(content, row) for row in _rows(content)]


def _rows(content: Content) -> list[Any]:
    """One object, a list, or one object a line as BigQuery exports them."""
    if isinstance(content.json, list):
        return content.json
    if content.json is not None:
        return [content.json]
    try:
        return [json.loads(line) for line in content.text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return []


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and {"test_name", "metrics", "keras_backend"} <= row.keys()


def _result(content: Content, row: dict[str, Any]) -> Result:
    metrics = foreign.table(content, row["metrics"], "metrics")
    backend = foreign.table(content, row["keras_backend"], "keras_backend")
    cpu = foreign.table(content, row.get("cpu_info"), "cpu_info")
    total = foreign.number(content, metrics.get("total_time"), "total_time")
    epochs = foreign.number(content, metrics.get("epochs", 1), "epochs")
    engine = str(backend.get("type", ""))
    packages = {engine: backend.get("version"), "keras": row.get("keras_version")}
    return foreign.imported(
        KIND,
        str(row["test_name"]),
        [
            foreign.steady("total_time", "s", (total,)),
            *([foreign.steady("epoch_time", "s", (total / epochs,))] if epochs > 0 else []),
        ],
        params=foreign.scalars(metrics, without=("total_time",)),
        key=f"{row['test_name']} on {engine}" if engine else "",
        facts=foreign.scalars(row, "keras-benchmarks.", _PLACED),
        started=foreign.when(row.get("recorded_time")),
        environment=Environment(
            machine=foreign.scalars({"cpus": cpu.get("num_cores")}),
            packages={foreign.plain(k): foreign.plain(v) for k, v in packages.items() if k and v},
        ),
    )


PROVIDES = {
    KIND: Format(
        summary="keras-benchmarks of 2017: rows of its table",
        suffix=".json",
        matches=matches,
        read=read,
    )
}
