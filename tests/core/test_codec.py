"""Records survive JSON, and files of every schema there ever was are read."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest

from assay.core import codec
from assay.core.errors import StoreError
from assay.core.records import SCHEMA, Result
from tests.stores.test_sqlite import result

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("number", range(1, SCHEMA + 1))
def test_a_golden_file_of_every_schema_is_read(number):
    """The file was written when the schema was made, and is never written again."""
    data = (GOLDEN / f"result-{number}.json").read_bytes()

    read = codec.decode(data, Result, "golden")

    assert read.id == "20261115-000000-gold/001"
    assert read.values("step_time") == (0.0125, 0.012, math.inf)
    assert read.case.key == "mnist-mlp:units=512@keras-jax"
    assert read.schema == SCHEMA


def test_todays_golden_file_is_what_is_written_today():
    data = (GOLDEN / f"result-{SCHEMA}.json").read_bytes()

    written = json.loads(codec.encode(codec.decode(data, Result, "golden")))

    assert _without_new(written, json.loads(data)) == json.loads(data)


def _without_new(written: object, golden: object) -> object:
    """Fields that came later have defaults, and need no new schema."""
    if not isinstance(written, dict) or not isinstance(golden, dict):
        return written
    return {name: _without_new(written[name], golden[name]) for name in golden if name in written}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_spelled(value):
    assert codec.encode({"a": [value]}) == f'{{"a":["{value}"]}}'.encode()


def test_nan_comes_back_as_a_number():
    made = result("run", peaks={"rss": math.nan})

    read = codec.decode(codec.encode(made), Result, "test")

    assert math.isnan(read.peaks["rss"])


def test_an_old_document_is_upgraded_step_by_step(monkeypatch):
    monkeypatch.setattr(codec, "SCHEMA", 3)
    monkeypatch.setattr(
        codec, "UPGRADES", {1: lambda d: d | {"b": d["a"]}, 2: lambda d: d | {"c": d["b"]}}
    )

    assert codec.upgrade({"schema": 1, "a": 5}, "test") == {"schema": 3, "a": 5, "b": 5, "c": 5}


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not readable JSON"),
        (b'{"schema": 1, "id"', "not readable JSON"),
        (b"[1, 2]", "holds no document"),
        (b'{"a": 1}', "no schema number"),
        (b'{"schema": "one"}', "no schema number"),
        (b'{"schema": 99}', "schema 99, but this assay reads up to"),
        (b'{"schema": 1}', "is not a result"),
        (b'{"schema": 1, "id": 7}', "is not a result"),
    ],
)
def test_what_is_no_result_is_said_with_its_name(data, complaint):
    with pytest.raises(StoreError, match=complaint) as caught:
        codec.decode(data, Result, "runs/x/001/result.json")
    assert "runs/x/001/result.json" in str(caught.value)


def test_an_unknown_field_is_ignored():
    plain = msgspec.to_builtins(result("run")) | {"from_the_future": 1}

    assert codec.decode(codec.encode(plain), Result, "test") == result("run")
