"""Networks are as often right on every backend as their weights are known to be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import assay
from assay.commands.run import api as run_verb
from assay.core import registry
from assay.core.errors import UsageError
from assay.core.records import Evaluation, Plan, Result
from assay.core.registry import open_store
from assay.measure import modes, plan
from assay.measure.plan import prepare_for_evaluation
from assay.weights import files
from assay.workloads.net import nets
from tests.backends.opened import frameworks
from tests.datasets.making import SAMPLE, WHOLE, needs_whole

# Of the 5000 test images, by the notes of those who trained the weights.
KNOWN = {
    "lenet": 98.94,
    "alexnet": 83.08,
    "alexnet2": 85.26,
    "vgg16-cifar10": 91.86,
    "mobilenet-cifar10": 88.48,
    "resnet18-cifar10": 90.28,
}
WHOLE_ON = ("keras-tensorflow", "keras-torch", "torch")
KERAS = ("keras-jax", "keras-tensorflow", "keras-torch")
NATIVE = pytest.param("native:kernels=portable", marks=pytest.mark.real("keras", "jax", "compiler"))
QUICK = {("lenet", "torch"), ("resnet18-cifar10", "keras-tensorflow"), ("alexnet2", "keras-torch")}
pytestmark = pytest.mark.timeout(1800)  # of two hundred gigaflops, on a machine others use too


def real(*names: str):
    return [pytest.param(name, marks=pytest.mark.real(*frameworks(name))) for name in names]


def marks(name: str, backend: str):
    """One net on each backend is in every run of the tests; the rest takes ten minutes."""
    needed = [pytest.mark.real(*frameworks(backend))]
    return needed if (name, backend) in QUICK else [*needed, pytest.mark.long]


def evaluated(case: str, home: Path, **how) -> tuple[Result, np.ndarray]:
    """The result, and the class predicted for every image."""
    (result,) = assay.evaluate(case, store=home, **how)
    assert result.status == "ok", result.reason
    return result, np.load(home / "runs" / result.id / modes.PREDICTIONS_FILE)


@needs_whole
@pytest.mark.parametrize(
    ("name", "backend"),
    [
        pytest.param(name, backend, marks=marks(name, backend))
        for name in KNOWN
        for backend in WHOLE_ON
    ],
)
def test_trained_weights_are_as_often_right_as_they_are_known_to_be(
    name, backend, home, monkeypatch
):
    monkeypatch.setenv("ASSAY_DATA", str(WHOLE))

    result, predicted = evaluated(f"{name}@{backend}", home)

    accuracy = assay.summarize(result).quantities["accuracy"]
    assert abs(accuracy.value - KNOWN[name]) <= 0.05
    assert accuracy.low < accuracy.value < accuracy.high
    assert (accuracy.n, len(predicted)) == (5000, 5000)
    assert [check.verdict for check in assay.summarize(result).checks] == ["pass"]
    assert result.facts["parameters"] == registry.workload(name).net().parameters()


@needs_whole
@pytest.mark.long
@pytest.mark.real("keras", "jax", "torch")
@pytest.mark.parametrize("name", KNOWN)
def test_keras_on_jax_predicts_the_same_as_torch(name, home, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(WHOLE))

    _, found = evaluated(f"{name}@keras-jax", home, first=500)
    _, other = evaluated(f"{name}@torch", home, first=500)

    assert len(found) == 500 and (found == other).all()


@pytest.fixture(scope="module")
def by_torch(tmp_path_factory) -> np.ndarray:
    """What torch predicts for the sample's images, most of it right."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_DATA", str(SAMPLE))
        result, predicted = evaluated("resnet18-cifar10@torch", tmp_path_factory.mktemp("home"))
    assert assay.summarize(result).quantities["accuracy"].value > 80
    assert result.facts["weights_file"] == str(SAMPLE / "weights" / "resnet18.npz")
    assert result.facts["dataset"] == "cifar10" and result.facts["count"] == 75
    return predicted


@pytest.mark.real("torch")
@pytest.mark.parametrize("backend", [*real(*KERAS), NATIVE])
def test_every_backend_predicts_the_same_of_the_sample(
    backend, by_torch, home, cache_home, monkeypatch
):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))

    _, predicted = evaluated(f"resnet18-cifar10@{backend}", home, params={"batch_size": [40]})

    assert (predicted == by_torch).all()


@pytest.mark.real("keras", "torch")
def test_dense_rows_after_a_flatten_are_right_in_either_layout(home, monkeypatch, tmp_path):
    """LeNet flattens a map of 7 x 7; seeded weights do, for wrong rows would change the classes."""
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    weights = tmp_path / "lenet.npz"
    files.write(weights, nets.weights(registry.workload("lenet").net(), seed=3))

    _, torch = evaluated("lenet@torch", home, weights=weights)
    found = [
        evaluated(f"lenet@keras-torch:data_format={layout}", home, weights=weights)[1]
        for layout in ("channels_first", "channels_last")
    ]

    assert len(set(torch.tolist())) > 1
    assert all((one == torch).all() for one in found)


@pytest.mark.real("torch")
def test_an_evaluation_is_resumed_as_one(home, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    cases = prepare_for_evaluation(plan.expand_cases(["vgg16-cifar100@torch"]))
    run = open_store(home).new_run(Plan(cases=cases, evaluation=Evaluation(split="tune")))

    (result,) = run_verb.resume(run.name)

    assert result.status == "skipped"
    assert "assay data fetch cifar100" in result.reason
    assert result.facts["expected_accuracy"] == 66.50


def test_an_evaluation_infers_and_takes_the_options_that_suit_it_unless_others_are_chosen():
    chosen = plan.expand_cases(["lenet@keras-tensorflow"])

    (suited,) = prepare_for_evaluation(chosen)
    (named,) = prepare_for_evaluation(chosen, named={"compiler"})

    assert (suited.options["mode"], suited.options["compiler"]) == ("infer", "off")
    assert named.options["compiler"] == "on"
    assert suited.params["weights"] == "trained"


@pytest.mark.parametrize(
    "how, words",
    [
        ({"split": "train"}, "split is 'train', but has to be one of: test, tune"),
        ({"weights": "nowhere.npz"}, "no weights file nowhere.npz"),
        ({"first": -1}, "first is -1"),
        ({"expected": 101}, "expected is 101"),
        ({"first": 76}, "first 76 images of test were asked for"),
    ],
)
def test_what_is_wrongly_asked_is_refused_before_a_run_begins(how, words, home, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))

    with pytest.raises(UsageError, match=words):
        assay.evaluate("resnet18-cifar10@torch", **how)

    assert not list(home.glob("runs/*"))


def test_weights_for_a_workload_that_takes_none_are_refused(tmp_path):
    with pytest.raises(UsageError, match="mnist-mlp takes no file of weights"):
        assay.evaluate("mnist-mlp@torch", weights=tmp_path)


def test_backends_after_the_name_are_cases_of_their_own(home, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))

    found = list(assay.evaluate("vgg16-cifar100@torch,keras-jax"))

    assert [result.case.backend for result in found] == ["torch", "keras-jax"]
