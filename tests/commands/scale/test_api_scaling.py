"""Efficiency: against as many single devices, with the uncertainty of both."""

from __future__ import annotations

import math

import pytest

from assay.commands.scale.api import scaling
from assay.commands.scale.view import output
from assay.core.findings import Quantity, SummarizedResult, Summary
from assay.core.records import Case
from assay.reporting.output.text import table_text
from tests.stores.test_sqlite import result


def reading(devices: int, rate: float, reach: float = 0.0, status: str = "ok") -> SummarizedResult:
    case = Case(workload="w", backend="b", options={"devices": devices})
    found = Quantity(
        value=rate,
        low=rate * math.exp(-reach),
        high=rate * math.exp(reach),
        unit="items/s",
        estimator="median",
        n=9,
    )
    summary = Summary(quantities={"throughput": found} if status == "ok" else {})
    return SummarizedResult(
        result=result("run", devices, case=case, status=status), summary=summary
    )


def test_efficiency_is_the_share_of_as_many_single_devices():
    points = scaling([reading(4, 300.0), reading(1, 100.0), reading(2, 190.0)])

    assert [point.devices for point in points] == [1, 2, 4]
    assert [point.efficiency.value for point in points] == pytest.approx([1.0, 0.95, 0.75])
    assert [point.per_device for point in points] == [100.0, 95.0, 75.0]


def test_the_interval_has_the_uncertainty_of_both():
    _, two = scaling([reading(1, 100.0, 0.03), reading(2, 200.0, 0.04)])

    assert math.log(two.efficiency.high) == pytest.approx(0.05)
    assert math.log(two.efficiency.low) == pytest.approx(-0.05)


def test_without_one_device_or_where_one_failed_there_is_no_efficiency():
    (alone,) = scaling([reading(2, 100.0)])
    _, failed = scaling([reading(1, 100.0), reading(2, 0.0, status="failed")])

    assert alone.efficiency is None
    assert (failed.status, failed.throughput, failed.efficiency) == ("failed", None, None)


def test_an_efficiency_without_an_interval_shows_none():
    rows = [reading(1, 100.0), reading(2, 190.0, math.nan)]

    [table] = output(scaling(rows), rows).tables

    assert "nan" not in table_text(table)
    assert [row[table.columns.index("95 % interval")] for row in table.rows] == ["", ""]
