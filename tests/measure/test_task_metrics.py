"""Metrics of a task's log that are called as assay calls its own, or are no number."""

from __future__ import annotations

import pytest

from assay import read_results
from assay.commands.task import api as tasking
from assay.logs.task import Metric
from tests.measure.test_task import metric, task


def told(name: str, printed: str, unit: str = "") -> object:
    found = Metric(name=name, pattern="value {number}", unit=unit)
    return tasking.run_task(task(f"print('value {printed}')", metrics=(found,)))


@pytest.mark.parametrize("name", ["loss", "step_time", "epoch_accuracy", "correct"])
def test_a_metric_of_a_log_is_in_the_summary(name):
    told(name, "99", unit="ms")

    quantity = read_results()[-1].summary.quantities[name]
    assert (quantity.value, quantity.unit) == (99, "ms")


def test_a_wall_time_of_the_log_is_not_mixed_with_that_of_the_command():
    result = told("wall_time", "99", unit="s")

    assert result.values("wall_time") == (99,)
    assert 0 < metric(result, "command_wall_time") < 60
    assert read_results()[-1].summary.quantities["wall_time"].value == 99


@pytest.mark.parametrize("printed", ["nan", "inf", "-inf"])
def test_a_metric_that_is_no_number_fails_and_is_shown(printed, assay):
    result = told("loss", printed)

    assert result.status == "failed"
    assert f"loss: its value is {printed}" in result.reason
    assert str(metric(result, "loss")) == printed
    _, out, _ = assay("show", "last")
    assert ["loss", printed] in [line.split()[:2] for line in out.splitlines()]


def test_the_shipped_task_tells_its_loss():
    tasking.run_task(tasking.find_task("numpy_regression", "examples/tasks/tasks.toml"))

    found = read_results()[-1].summary.quantities
    assert {"speed", "loss", "training_time", "wall_time"} <= set(found)
    assert (found["loss"].n, found["speed"].unit) == (3, "samples/s")


def test_the_memory_of_a_command_that_ends_at_once_is_told():
    for _ in range(5):
        result = tasking.run_task(task("", command=("true",), metrics=()))
        assert result.peaks["max_rss"] > 2**18
