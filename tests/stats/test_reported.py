"""Metrics that a program named itself keep its names, units and values."""

from __future__ import annotations

import math

import msgspec
import pytest

from assay.core.findings import SummarizedResult
from assay.core.records import Samples
from assay.reporting import results
from assay.reporting.detail import detail
from assay.stats import paired_ratio
from assay.stats.summary import summarize
from tests.stats.test_summary import result

# what assay itself calls samples and quantities of a result
OWN = (
    *("step_time", "open_time", "first_step", "total_time", "wall_time", "mean", "min", "p50"),
    *("throughput", "flop_rate", "peak_share", "accuracy", "top5_accuracy", "item_time", "max_rss"),
    *("evaluated", "correct", "top5_correct", "coefficient_of_variation"),
    *("epoch_time", "loss", "train_accuracy", "epoch_accuracy", "train_time", "time_to_accuracy"),
)


def told(name, values=(99.0,), unit="points", seconds=2.0):
    """A result as a task leaves it: one metric of its log, and how it fared."""
    sample = Samples(metric=name, unit=unit, phase="steady", values=tuple(values))
    found = result(sample, seconds=seconds, items=1)
    return msgspec.structs.replace(
        found, facts={f"metric {name}": "last of 1 values"}, peaks={"max_rss": 5.0}
    )


def reading(found):
    return SummarizedResult(result=found, summary=summarize(found))


@pytest.mark.parametrize("name", OWN)
def test_a_told_metric_keeps_its_name_unit_and_value(name):
    quantity = summarize(told(name)).quantities[name]

    assert (quantity.value, quantity.unit, quantity.n) == (99.0, "points", 1)


@pytest.mark.parametrize("name", OWN)
def test_a_told_metric_is_in_the_table_and_on_the_page(name):
    found = reading(told(name))

    (row,) = results.table([found]).rows
    assert row[2:4] == (name, "99.0 points")
    assert f"{name} " in detail(found)
    assert "99.0 points" in detail(found)


@pytest.mark.parametrize("name", OWN)
def test_a_told_metric_makes_no_other_of_assays(name):
    assert set(summarize(told(name)).quantities) <= {name, "total_time", "command_total_time"}


@pytest.mark.parametrize("name", OWN)
def test_a_told_metric_is_what_is_compared(name):
    assert list(paired_ratio.values(told(name), name)) == [99.0]


def test_assays_own_of_the_same_name_stands_beside_it():
    found = summarize(told("total_time", seconds=2.0)).quantities

    assert (found["total_time"].value, found["command_total_time"].value) == (99.0, 2.0)


def test_times_of_a_log_raise_no_doubts_about_steps():
    assert summarize(told("step_time", values=(1.0, 99.0, 5000.0))).doubts == ()


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_shown(value):
    found = reading(told("loss", values=(value,)))

    (row,) = results.table([found]).rows
    assert row[2:4] == ("loss", str(value))
