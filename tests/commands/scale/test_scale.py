"""One case on several numbers of devices, planned and measured."""

from __future__ import annotations

import pytest

import assay
from assay.commands.scale import api
from assay.core.errors import UsageError

TINY = "mnist-mlp:batch_size=4,units=8,hidden=1"


@pytest.mark.parametrize(("strong", "rows"), [(False, [4, 8]), (True, [4, 4])])
def test_each_device_has_a_batch_or_all_share_one(strong, rows):
    plan = api.make_scale_plan(f"{TINY}@jax", (1, 2), strong)

    assert [case.params["batch_size"] for case in plan.cases] == rows
    assert [case.options["devices"] for case in plan.cases] == [1, 2]
    assert plan.verb == "scale"


@pytest.mark.parametrize(
    ("case", "devices", "words"),
    [
        (f"{TINY}@jax", (), "has to be some numbers"),
        (f"{TINY}@jax", (0,), "has to be some numbers"),
        (f"{TINY}@jax", (2, 2), "has to be some numbers"),
        (f"{TINY}@jax:devices=2", (1,), "the devices beside it"),
        (f"{TINY}@onnxruntime", (1, 2), "onnxruntime runs on one device"),
    ],
)
def test_what_cannot_be_scaled_is_said(case, devices, words):
    with pytest.raises(UsageError, match=words):
        api.make_scale_plan(case, devices)


@pytest.mark.real("torch")
def test_processes_of_torch_share_a_training_and_the_doubt_says_they_share_cores(home):
    one, two = assay.scale(
        f"{TINY}@torch:device=cpu", devices=(1, 2), samples=3, steps_per_sample=1, store=home
    )

    assert (one.status, two.status) == ("ok", "ok")
    assert (one.items, two.items) == (4, 8)
    assert one.efficiency.value == 1.0
    assert two.efficiency.low <= two.efficiency.value <= two.efficiency.high
    (found,) = assay.read_results(assay.Query(ids=(two.result,)), home)
    assert "shared-cores" in {doubt.code for doubt in found.summary.doubts}
