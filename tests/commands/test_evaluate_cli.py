"""assay evaluate as it is typed."""

from __future__ import annotations

import json

import pytest

from tests.datasets.making import SAMPLE


@pytest.fixture(autouse=True)
def sample(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))


@pytest.mark.real("keras", "torch")
def test_what_cannot_be_evaluated_here_says_what_it_needs(assay):
    status, out, _ = assay("evaluate", "vgg16-imagenet@torch")

    assert status == 3
    assert "skipped" in out and "≥ 69.46" in out
    assert "vgg16-imagenet has no trained weights here: give --weights FILE" in out
    assert "the images of imagenet are not here: Ask for it at image-net.org" in out


@pytest.mark.parametrize(
    "words, complaint",
    [
        (["lenett@torch"], "Did you mean 'lenet'?"),
        (["lenet@torch", "--split", "train"], "split is 'train', but has to be one of: test, tune"),
        (["lenet@torch", "--weights", "none.npz"], "no weights file none.npz"),
        (["lenet@tensorflow"], "tensorflow cannot open lenet"),
    ],
)
def test_a_mistake_leaves_with_2(assay, words, complaint):
    status, _, err = assay("evaluate", *words)

    assert status == 2
    assert complaint in err


@pytest.mark.real("torch")
def test_weights_that_do_not_fit_fail_with_the_layer_and_the_shapes(assay):
    weights = str(SAMPLE / "weights" / "resnet18.npz")

    status, out, _ = assay("evaluate", "lenet@torch", "--weights", weights)

    assert status == 1
    assert "layer conv2d_1 needs kernel (5, 5, 1, 32), but theirs is (3, 3, 3, 16)" in out


@pytest.mark.real("torch")
def test_an_accuracy_that_is_not_the_expected_fails_in_the_document_of_run(assay):
    words = ("--first", "30", "--expect", "12.5", "--format", "json", "--label", "odd")

    status, out, _ = assay("evaluate", "resnet18-cifar10@torch", *words)

    document = json.loads(out)
    (result,) = document["results"]
    assert status == 1
    assert document["kind"] == "results"
    assert (result["status"], result["label"]) == ("ok", "odd")
    assert result["summary"]["accuracy"].keys() == {
        *("value", "low", "high", "unit", "estimator", "n")
    }
    assert result["summary"]["accuracy"]["unit"] == "%"
    assert result["summary"]["accuracy"]["n"] == 30
    assert result["facts"]["weights_digest"].startswith("sha256:")
    assert result["checks"] == [
        {
            "metric": "accuracy",
            "rule": "within",
            "expected": 12.5,
            "tolerance": 0.05,
            "verdict": "fail",
            "by": "value",
        }
    ]


@pytest.mark.real("torch")
def test_a_workload_without_data_is_told_of_without_speeds(assay):
    status, out, _ = assay("evaluate", "mnist-mlp@torch", "--batch-size", "4")

    assert status == 3
    assert "mnist-mlp: this workload has no data to be evaluated on" in out
    assert "step time" not in out
