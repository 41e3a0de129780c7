"""The flags of keras-benchmarks and of the VGG16 study, as cases of assay."""

from __future__ import annotations

import msgspec
import pytest

from assay.compat import keras_benchmarks, vgg16
from assay.core.records import Case, Environment
from assay.measure import plan


@pytest.mark.parametrize("model", keras_benchmarks.MODELS)
def test_every_old_model_is_a_case_that_can_be_planned(model):
    (case,) = plan.expand_cases([keras_benchmarks.case(model, "cpu_config", "jax")])

    assert (case.options["method"], case.options["epochs"]) == ("fit", 4)
    assert case.options["device"] == "cpu"


def test_old_flags_become_cases_in_the_old_order():
    texts = vgg16.cases(
        run_keras=True, run_tensorflow=True, use_xla=True, use_bn=True, keras_backend="jax"
    )

    found = plan.expand_cases(texts)

    assert [case.backend for case in found] == ["keras-jax", "tensorflow"]
    assert found[1].options["compiler"] == "on"
    assert found[1].params["bn"] == "mode2"


def test_fused_becomes_a_parameter():
    texts = vgg16.cases(run_tensorflow=True, use_bn=True, use_fused=True, bn_mode="0")

    (case,) = plan.expand_cases(texts)

    assert (case.params["bn"], case.params["fused"]) == ("mode0", True)


def test_only_the_framework_that_was_used_is_named():
    from tests.stats.test_summary import result, steady

    found = msgspec.structs.replace(
        result(steady([0.1])),
        case=Case(workload="vgg16", backend="keras-tensorflow", key="vgg16@keras-tensorflow"),
        environment=Environment(
            packages={"jax": "0.9", "keras": "3.1", "tensorflow_cpu": "2.21", "torch": "2.9"}
        ),
    )

    named = [line for line in vgg16.lines(found) if "version" in line]

    assert named == ["keras version: 3.1", "tensorflow_cpu version: 2.21"]
