"""Tables for BigQuery: a typed one of assay, PerfZero's, keras-benchmarks'."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import msgspec

from assay import __version__
from assay.core import codec
from assay.core.errors import UsageError, unknown_name_error
from assay.core.findings import SummarizedResult
from assay.formats import keras_rows, perfzero_summary

Row = dict[str, Any]


class Column(msgspec.Struct, frozen=True):
    """A column in BigQuery's terms."""

    name: str
    type: str = "STRING"
    mode: str = "NULLABLE"
    fields: tuple[Column, ...] = ()


class BigTable(msgspec.Struct, frozen=True, kw_only=True):
    """A table: key, columns, and conversion of a result to a row."""

    key: str
    columns: tuple[Column, ...]
    row: Callable[[SummarizedResult], Row]

    @property
    def key_type(self) -> str:
        return next(column.type for column in self.columns if column.name == self.key)


def get(name: str) -> BigTable:
    if name not in TABLES:
        raise unknown_name_error("table", name, TABLES)
    return TABLES[name]


def perfzero_row(summary: Row) -> Row:
    """PerfZero's summary: six of its eight columns are JSON texts."""
    stamp = summary["execution_timestamp"]
    return {
        "execution_id": str(summary["execution_id"]),
        "execution_timestamp": stamp,
        **{name: _text(summary.get(name, {})) for name in _PERFZERO_TEXTS},
    }


def _assay_record(reading: SummarizedResult) -> Row:
    result, here = reading.result, reading.result.environment
    return {
        "id": result.id,
        "run": result.run,
        "started": result.started or None,
        "workload": result.case.workload,
        "backend": result.case.backend,
        "case": result.case.key,
        "params": _text(result.case.params),
        "options": _text(result.case.options),
        "label": result.label,
        "tags": [{"name": name, "value": value} for name, value in result.tags.items()],
        "status": result.status,
        "reason": result.reason,
        "seconds": _number(result.seconds),
        "items": result.items,
        "quantities": [
            _quantity(name, quantity) for name, quantity in reading.summary.quantities.items()
        ],
        "doubts": [doubt.code for doubt in reading.summary.doubts],
        "peaks": [{"name": name, "value": _number(v)} for name, v in result.peaks.items()],
        "facts": _text(result.facts),
        "host": str(here.system.get("hostname", "")),
        "cpu": str(here.machine.get("cpu", "")),
        "gpu": str(here.machine.get("gpu0", "")),
        "python": str(here.python.get("version", "")),
        "packages": [{"name": n, "version": v} for n, v in here.packages.items()],
        "commit": str(here.git.get("commit", "")),
        "image": str(here.system.get("image", "")),
        "assay": __version__,
    }


def _quantity(name: str, quantity: Any) -> Row:
    numbers = {field: _number(getattr(quantity, field)) for field in ("value", "low", "high")}
    return {
        "name": name,
        **numbers,
        "unit": quantity.unit,
        "estimator": quantity.estimator,
        "n": quantity.n,
    }


def _keras(reading: SummarizedResult) -> Row:
    result = reading.result
    if not result.case.backend.startswith("keras-"):
        raise UsageError(
            f"{result.case.key} did not run on Keras, as keras-benchmarks' table requires.",
            hint="Use --table assay.",
        )
    return keras_rows.row(result, keras_rows.model_of(result))


def _number(value: float) -> float | None:
    """NULL for numbers that are not finite, which would break averages."""
    return float(value) if math.isfinite(value) else None


def _text(value: object) -> str:
    return json.dumps(json.loads(codec.encode(value)), separators=(",", ":"), sort_keys=True)


def _record(name: str, *fields: Column, mode: str = "NULLABLE") -> Column:
    return Column(name, "RECORD", mode, fields)


_PERFZERO_TEXTS = (
    *("ml_framework_info", "benchmark_result", "benchmark_info"),
    *("setup_info", "system_info", "process_info"),
)
_FLOATS = tuple(Column(name, "FLOAT") for name in ("value", "low", "high"))
_ASSAY_TABLE = (
    Column("id", mode="REQUIRED"),
    Column("run", mode="REQUIRED"),
    Column("started", "TIMESTAMP"),
    *(Column(name) for name in ("workload", "backend", "case", "params", "options", "label")),
    _record("tags", Column("name"), Column("value"), mode="REPEATED"),
    Column("status"),
    Column("reason"),
    Column("seconds", "FLOAT"),
    Column("items", "INTEGER"),
    _record(
        "quantities",
        *(Column("name"), *_FLOATS, Column("unit"), Column("estimator"), Column("n", "INTEGER")),
        mode="REPEATED",
    ),
    Column("doubts", mode="REPEATED"),
    _record("peaks", Column("name"), Column("value", "FLOAT"), mode="REPEATED"),
    *(Column(name) for name in ("facts", "host", "cpu", "gpu", "python")),
    _record("packages", Column("name"), Column("version"), mode="REPEATED"),
    Column("commit"),
    Column("image"),
    Column("assay"),
)
_PERFZERO = (
    Column("execution_timestamp", "TIMESTAMP", "REQUIRED"),
    Column("execution_id", "STRING", "REQUIRED"),
    *(Column(name) for name in _PERFZERO_TEXTS),
)
_KERAS = (
    Column("test_id", "INTEGER", "REQUIRED"),
    Column("test_name"),
    Column("test_type"),
    Column("recorded_time", "TIMESTAMP"),
    _record(
        "metrics",
        Column("total_time", "FLOAT"),
        Column("epochs", "INTEGER"),
        Column("batch_size", "INTEGER"),
        Column("sample_type"),
    ),
    _record("keras_backend", Column("type"), Column("version")),
    _record("cpu_info", Column("num_cores", "INTEGER"), Column("memory", "FLOAT"), Column("units")),
    _record("platform_info", Column("type"), Column("machine_type")),
    Column("keras_version"),
    _record("gpu_info", Column("count", "INTEGER"), Column("platform")),
)
TABLES = {
    "assay": BigTable(key="id", columns=_ASSAY_TABLE, row=_assay_record),
    "perfzero": BigTable(
        key="execution_id",
        columns=_PERFZERO,
        row=lambda reading: perfzero_row(perfzero_summary.document(reading)),
    ),
    "keras-benchmarks": BigTable(key="test_id", columns=_KERAS, row=_keras),
}
