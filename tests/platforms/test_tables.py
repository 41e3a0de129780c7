"""Rows: ours typed, PerfZero's eight columns, keras-benchmarks' records."""

from __future__ import annotations

import json

import pytest

from assay.core.errors import UsageError
from assay.core.findings import SummarizedResult
from assay.core.records import Case, Environment, Procedure, Result, Samples
from assay.platforms.sinks import tables
from assay.stats.summary import summarize


def reading(backend="keras-jax", **more) -> SummarizedResult:
    values = (0.25, 0.26, 0.25, 0.24)
    result = Result(
        id="20261101-000000-abcd/001",
        case=Case(workload="mnist-mlp", backend=backend, params={"units": 64}, key="k"),
        procedure=Procedure(),
        status="ok",
        started="2026-11-01T10:00:00Z",
        items=32,
        samples=(Samples(metric="step_time", unit="s", phase="steady", values=values),),
        tags={"team": "vision"},
        peaks={"max_rss": float("nan")},
        environment=Environment(packages={"keras": "3.15.1", "jax": "0.10.2"}),
        **more,
    )
    return SummarizedResult(result=result, summary=summarize(result))


def fits(row, columns) -> bool:
    """Every value is of a column, and of its type."""
    kinds = {"STRING": str, "FLOAT": (float, int), "INTEGER": int, "TIMESTAMP": (str, float)}
    by_name = {column.name: column for column in columns}
    for name, value in row.items():
        column = by_name[name]
        for one in value if column.mode == "REPEATED" else [value]:
            if one is None and column.mode == "NULLABLE":
                continue
            if column.type == "RECORD":
                assert fits(one, column.fields)
            else:
                assert isinstance(one, kinds[column.type]), (name, one)
    return {column.name for column in columns} == set(row)


@pytest.mark.parametrize("name", tables.TABLES)
def test_a_row_has_the_table_s_columns_in_their_types_and_is_the_same_again(name):
    table = tables.get(name)
    row = table.row(reading())

    assert fits(row, table.columns)
    assert row == table.row(reading())
    assert json.loads(json.dumps(row, allow_nan=False)) == row


def test_ours_has_quantities_with_their_intervals():
    row = tables.get("assay").row(reading())
    (step,) = [one for one in row["quantities"] if one["name"] == "step_time"]

    assert (step["unit"], step["n"]) == ("s", 4)
    assert 0.24 <= step["value"] <= 0.26
    assert row["tags"] == [{"name": "team", "value": "vision"}]
    assert row["peaks"] == [{"name": "max_rss", "value": None}]


def test_perfzero_s_texts_are_json():
    row = tables.get("perfzero").row(reading())

    assert len(row) == 8
    assert json.loads(row["benchmark_result"])["succeeded"] is True


def test_keras_benchmarks_has_no_row_for_what_is_not_keras():
    with pytest.raises(UsageError, match="did not run on Keras"):
        tables.get("keras-benchmarks").row(reading(backend="torch"))


def test_an_unknown_table_suggests_one():
    with pytest.raises(UsageError) as caught:
        tables.get("perfzeroo")
    assert caught.value.hint == "Did you mean 'perfzero'?"
