"""What follows from the epochs of a training."""

from __future__ import annotations

import pytest

from assay.core.records import Case, Procedure, Result, Samples
from assay.stats.summary import summarize


def trained(times, accuracies, expected=0.0):
    def of(metric, values, unit="%", phase="steady"):
        return Samples(metric=metric, unit=unit, phase=phase, values=tuple(values))

    return Result(
        id="r/001",
        case=Case(workload="lenet", backend="keras-jax"),
        procedure=Procedure(),
        status="ok",
        samples=(
            of("epoch_time", times[:1], "s", "first"),
            of("epoch_time", times[1:], "s"),
            of("loss", [1 / n for n in range(1, len(times) + 1)], ""),
            of("train_accuracy", accuracies),
            of("epoch_accuracy", accuracies),
        ),
        facts={"expected_accuracy": expected} if expected else {},
    )


def test_the_first_epoch_counts_in_the_time_of_a_training():
    found = summarize(trained([10.0, 2.0, 3.0], [50, 60, 70])).quantities

    assert found["train_time"].value == 15
    assert found["loss"].value == pytest.approx(1 / 3)
    assert found["train_accuracy"].value == 70


def test_time_to_accuracy_ends_with_the_first_epoch_that_reached_it():
    found = summarize(trained([10.0, 2.0, 3.0, 4.0], [50, 61, 59, 70], expected=60)).quantities

    assert found["time_to_accuracy"].value == 12
    assert found["time_to_accuracy"].estimator == "to the end of epoch 2"


@pytest.mark.parametrize("expected", [0.0, 90.0])
def test_an_accuracy_not_expected_or_not_reached_has_no_time(expected):
    found = summarize(trained([10.0, 2.0], [50, 61], expected)).quantities

    assert "time_to_accuracy" not in found


def test_a_median_over_epochs_is_told_of_their_time_alone():
    found = summarize(trained([10.0, 2.0, 3.0, 4.0], [50, 61, 59, 70])).quantities

    assert found["epoch_time"].value == 3
    assert "epoch_accuracy" not in found
