"""Google's client against an emulator of BigQuery, with everything going wrong on the way."""

from __future__ import annotations

import json

import pytest

import assay
from assay.core.records import Case
from assay.platforms.sinks import bigquery, tables
from assay.stores.read import read_results
from tests.kept_runs import CASE, OTHER
from tests.platforms.services import forwarding, serving

pytestmark = [pytest.mark.long, pytest.mark.real("google.cloud.bigquery")]

KERAS = tuple(
    Case(workload="mnist-mlp", backend=f"keras-{name}", params={"units": 64}, key=name)
    for name in ("jax", "torch")
)


@pytest.fixture
def service(bigquery_emulator, monkeypatch):
    monkeypatch.setattr(bigquery.time, "sleep", lambda _: None)
    with serving(forwarding("127.0.0.1", bigquery_emulator)) as (faulty, address):
        monkeypatch.setenv(bigquery.EMULATOR, address)
        yield faulty


def rows(place: str) -> list[dict]:
    client = bigquery._client("p")
    return [dict(row) for row in client.query(f"SELECT * FROM `{place}`").result()]


@pytest.mark.parametrize("table", tables.TABLES)
def test_rows_equal_the_results_and_are_there_once(keep, home, service, table):
    cases = KERAS if table == "keras-benchmarks" else (CASE, OTHER)
    run = keep(*((case, 0.01, "ok") for case in cases))
    name = table.replace("-", "_")
    place = f"p:equal.{name}"
    assay.upload(run, bigquery=place, table=table, store=home)
    assay.upload(run, bigquery=place, table=table, store=home)

    made = {
        row[tables.get(table).key]: row
        for row in map(tables.get(table).row, read_results(store=home))
    }
    there = rows(f"p.equal.{name}")
    assert len(there) == 2
    for row in there:
        expected = made[row[tables.get(table).key]]
        for stamp in ("started", "execution_timestamp", "recorded_time"):
            if stamp in row:
                row[stamp] = row[stamp].strftime("%Y-%m-%dT%H:%M:%SZ")
        assert json.loads(json.dumps(row)) == json.loads(json.dumps(expected))


@pytest.mark.parametrize("fault", [503, 429, "cut-before", "cut-after", "slow"])
def test_nothing_is_lost_and_nothing_is_there_twice(keep, home, service, fault):
    run = keep(*[(CASE, 0.01, "ok")] * 3)
    place = f"faults_{fault}".replace("-", "_")
    service.faults = [None, fault, fault, None, fault, fault]

    while assay.upload(run, bigquery=f"p:{place}.results", store=home).status:
        pass

    assert sorted(row["id"] for row in rows(f"p.{place}.results")) == [
        f"{run}/001",
        f"{run}/002",
        f"{run}/003",
    ]
