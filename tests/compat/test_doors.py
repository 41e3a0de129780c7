"""The command lines of keras-benchmarks and of the VGG16 study, as their users wrote them."""

from __future__ import annotations

import json

import pytest

from assay import plan
from assay.compat import keras_benchmarks, vgg16_study

GIVEN = {
    "run_keras": False,
    "run_tensorflow": False,
    "run_pytorch": False,
    "use_xla": False,
    "use_bn": False,
    "use_fused": False,
    "bn_mode": "2",
    "data_format": "NHWC",
    "batch_size": 16,
    "n_trials": 100,
    "keras_backend": "jax",
    "image_size": 224,
}


@pytest.mark.parametrize("model", keras_benchmarks.MODELS)
def test_every_old_model_is_a_case_that_can_be_planned(model):
    (case,) = plan.cases([keras_benchmarks.case(model, "cpu_config", "jax")])

    assert (case.options["method"], case.options["epochs"]) == ("fit", 4)
    assert case.options["device"] == "cpu"


@pytest.mark.real("jax", "keras")
def test_a_dry_run_prints_the_old_row_and_keeps_nothing(assay, home):
    words = ("--mode", "cpu_config", "--model_name", "mnist_mlp", "--dry_run")
    status, out, _ = assay("keras-benchmarks", *words, "--keras_backend", "jax")

    row = json.loads(out)
    assert status == 0
    assert (row["test_name"], row["keras_backend"]["type"]) == ("mnist_mlp", "jax")
    assert row["metrics"]["epochs"] == 3
    assert row["metrics"]["total_time"] > 0
    assert row["cpu_info"]["num_cores"] >= 1
    assert row["keras_version"]
    assert not (home / "runs").exists()


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (("--mode", "multi_gpu_config", "--model_name", "lstm"), 3, "several GPUs"),
        (("--mode", "cpu", "--model_name", "lstm"), 2, "no mode of keras-benchmarks"),
        (("--model_name", "lstmm"), 2, "no model of keras-benchmarks named 'lstmm'"),
        (("--model_name", "lstm", "--keras_backend", "theano"), 2, "any more"),
    ],
)
def test_what_the_old_tool_cannot_do_here_is_said(assay, words, status, complaint):
    left, _, error = assay("keras-benchmarks", *words)

    assert left == status
    assert complaint in error


def test_old_flags_become_cases_in_the_old_order():
    wishes = GIVEN | {"run_keras": True, "run_tensorflow": True, "use_xla": True, "use_bn": True}

    found = plan.cases(vgg16_study.cases(wishes))

    assert [case.backend for case in found] == ["keras-jax", "tensorflow"]
    assert found[1].options["compiler"] == "on"
    assert found[1].params["bn"] == "mode2"


def test_fused_becomes_a_parameter():
    wishes = GIVEN | {"run_tensorflow": True, "use_bn": True, "use_fused": True, "bn_mode": "0"}

    (case,) = plan.cases(vgg16_study.cases(wishes))

    assert (case.params["bn"], case.params["fused"]) == ("mode0", True)


@pytest.mark.real("torch")
def test_the_mean_is_printed_as_it_was(assay):
    words = ("--run_pytorch", "--batch_size", "1", "--n_trials", "2", "--image_size", "32")
    status, out, _ = assay("vgg16", *words)

    assert status == 0
    assert "torch version: " in out
    assert float(out.partition("Mean Time per update:")[2].split()[0]) > 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "None of --run_keras"),
        (("--run_keras", "--keras_backend", "theano"), "any more"),
        (("--run_tensorflow", "--data_format", "HWC"), "has to be NHWC or NCHW"),
        (("--run_tensorflow", "--use_fused"), "without --use_bn"),
    ],
)
def test_misuse_of_the_study_is_said(assay, words, complaint):
    status, _, error = assay("vgg16", *words)

    assert status == 2
    assert complaint in error
