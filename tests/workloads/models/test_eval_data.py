"""Trained weights find their layers in every form, and say which one they do not fit."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core import registry
from assay.core.errors import UsageError
from assay.core.records import Evaluation
from assay.weights import files
from assay.workloads.models import eval_data
from assay.workloads.net import nets
from tests.datasets.making import SAMPLE
from tests.needs import with_needs

RESNET18 = registry.workload("resnet18-cifar10")
TRAINED = SAMPLE / "weights" / "resnet18.npz"


def test_weights_counted_as_keras_keeps_layers_are_put_where_they_belong():
    """In this file the projection of a shortcut was counted before the second convolution."""
    held = files.read(TRAINED)

    found = eval_data.fit_weights(RESNET18.net(), held)

    assert (found["conv2d_9/kernel"] == held["conv2d_10/kernel"]).all()
    assert (found["conv2d_10/kernel"] == held["conv2d_9/kernel"]).all()
    assert (found["conv2d_16/bias"] == held["conv2d_17/bias"]).all()
    assert (found["dense_1/kernel"] == held["dense_1/kernel"]).all()


@pytest.mark.parametrize("name", ["resnet18-cifar10", "mobilenet-cifar10", "lenet"])
@pytest.mark.parametrize(
    "form", with_needs(["weights.npz", "old.h5", "bins"], {"old.h5": ("h5py",)})
)
def test_weights_in_order_of_creation_come_back_as_they_were(name, form, tmp_path):
    net = registry.workload(name).net()
    weights = nets.weights(net, seed=1)
    files.write(tmp_path / form, weights, net.flattened_shapes())

    found = eval_data.fit_weights(net, files.read(tmp_path / form, eval_data.weight_layers(net)))

    assert list(found) == list(net.weight_shapes())
    assert all(np.array_equal(found[key], weights[key]) for key in weights)


def test_weights_of_another_net_say_which_layer_needs_what():
    held = files.read(TRAINED)

    with pytest.raises(
        UsageError, match=r"conv2d_1 needs kernel \(5, 5, 1, 32\), but theirs is \(3, 3, 3, 16\)"
    ):
        eval_data.fit_weights(registry.workload("lenet").net(), held)


def test_a_missing_bin_is_named(tmp_path):
    net = RESNET18.net()
    files.write(tmp_path / "bins", nets.weights(net, seed=0), net.flattened_shapes())
    (tmp_path / "bins" / "conv2d_9_b.bin").unlink()

    with pytest.raises(UsageError, match=r"has no conv2d_9_b\.bin, but layer conv2d_9 needs"):
        files.read(tmp_path / "bins", eval_data.weight_layers(net))


@pytest.mark.parametrize(
    "name, words",
    [
        ("vgg16-cifar100", "weights/vgg16-cifar100.npz into the folder ASSAY_DATA"),
        ("vgg16-cifar100", "assay data fetch cifar100"),
        ("resnet50-imagenet", "image-net.org"),
        ("alexnet-imagenet", "no trained weights here"),
    ],
)
def test_what_is_not_here_is_said(name, words, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    workload = registry.workload(name)
    params = {**workload.params, "weights": "trained"}

    assert words in workload.lacks(params, Evaluation(), tmp_path)


def test_nothing_lacks_where_weights_and_pictures_are(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))

    assert RESNET18.lacks({**RESNET18.params, "weights": "trained"}, Evaluation(), tmp_path) == ""


def test_more_pictures_than_there_are_is_a_mistake(monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))

    with pytest.raises(UsageError, match=r"first 76 images of tune were asked for, but .* has 75"):
        RESNET18.lacks(RESNET18.params, Evaluation(split="tune", first=76), tmp_path)


def test_data_fetched_into_the_home_folder_is_found(tmp_path, monkeypatch):
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    (tmp_path / "data").symlink_to(SAMPLE)

    found = eval_data.weights_file(RESNET18, "trained", tmp_path)
    assert found == tmp_path / "data/weights/resnet18.npz"
    assert eval_data.weights_file(RESNET18, "trained", tmp_path / "elsewhere") is None


def test_hpvms_keras_file_is_taken_and_else_the_trained_weights(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    own = tmp_path / "data" / "model_params" / "keras" / "resnet18_cifar10.h5"

    assert eval_data.weights_file(RESNET18, "keras_model_file", tmp_path).name == "resnet18.npz"
    own.parent.mkdir(parents=True)
    own.touch()
    assert eval_data.weights_file(RESNET18, "keras_model_file", tmp_path) == own


def test_hpvms_folder_of_weights_has_nothing_to_stand_in_for_it(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    params = {**RESNET18.params, "weights": "reload_dir"}

    lacking = RESNET18.lacks(params, Evaluation(), tmp_path)
    (tmp_path / "data" / "model_params" / "resnet18_cifar10").mkdir(parents=True)

    assert "assay data fetch model_params" in lacking
    assert RESNET18.lacks(params, Evaluation(), tmp_path) == ""


def test_hpvms_own_pictures_are_taken_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    folder = tmp_path / "model_params" / "resnet18_cifar10"
    folder.mkdir(parents=True)
    planes = np.random.default_rng(0).random((4, 3, 32, 32), dtype=np.float32)
    for part in ("test", "tune"):
        planes.tofile(folder / f"{part}_input.bin")
        np.array([3, 1, 4, 1], np.uint32).tofile(folder / f"{part}_labels.bin")

    found = eval_data.evaluation_images(RESNET18, "model_params", "tune", 3)

    assert np.array_equal(found.ready(found.inputs), planes[:3].transpose(0, 2, 3, 1))
    assert found.labels.tolist() == [3, 1, 4]
    assert found.facts["dataset"] == "model_params/resnet18_cifar10"


def test_own_pictures_are_made_ready_by_the_rule_of_the_net(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))

    found = eval_data.evaluation_images(RESNET18, "own", "test", 2)

    wanted = (found.inputs.astype(np.float64) - 120.70757293701172) / (64.15007019042969 + 1e-7)
    assert found.inputs.dtype == np.uint8
    assert np.allclose(found.ready(found.inputs), wanted, atol=1e-6)
    assert found.facts["preparation"] == "cifar10"
