"""The older tools' ways to time: fit() with epochs, one timer around many steps, single steps."""

from __future__ import annotations

import pytest

from assay.commands.run import api
from assay.core.records import Procedure
from tests.backends.opened import SMALL


@pytest.mark.family(engine="engines")
@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(name, marks=pytest.mark.real("keras", name))
        for name in ("jax", "tensorflow", "torch")
    ],
)
def test_fit_tells_its_first_epoch_apart(engine):
    (result,) = api.run(
        f"{SMALL['mnist-mlp']}@keras-{engine}:method=fit,epochs=3,examples=10",
        procedure=Procedure(budget=1),
    )

    assert result.status == "ok", result.reason
    assert len(result.values("step_time", "first")) == 1
    assert len(result.values("step_time")) == 2
    assert result.samples[-1].steps == 3  # batches of 4 in 10 examples


@pytest.mark.real("torch")
def test_one_timer_around_a_hundred_steps_is_one_sample():
    (result,) = api.run(
        f"{SMALL['mnist-mlp']}@torch",
        procedure=Procedure(budget=0.1, samples=1, steps_per_sample=100),
    )

    assert len(result.values("step_time")) == 1
    assert result.samples[-1].steps == 100


@pytest.mark.real("keras", "tensorflow")
def test_latency_waits_for_every_step():
    (result,) = api.run(
        f"{SMALL['mnist-mlp']}@keras-tensorflow:mode=infer",
        procedure=Procedure(budget=0.1, samples=5, latency=True),
    )

    assert result.status == "ok", result.reason
    assert len(result.values("step_time")) == 5
    assert result.samples[-1].steps == 1
