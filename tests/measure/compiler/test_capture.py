"""A model is captured by name in another process; what is wrong with it comes back in words."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core import registry
from assay.core.errors import AssayError, UsageError
from assay.measure.compiler import capture
from assay.native import files, reference
from assay.workloads.net import nets
from tests.backends.opened import SMALL
from tests.backends.test_same_outputs import by_hand

REAL = pytest.mark.real("keras", "jax")
FILE = """
import keras


def recurrent():
    return keras.Sequential([keras.Input((3, 2)), keras.layers.GRU(4)])


def broken():
    return missing_name
"""


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(FILE)
    return path


@REAL
def test_a_workload_is_captured_with_the_weights_it_is_built_with_each_time_alike():
    graph, again = (capture.capture_by_name(SMALL["cifar10-cnn"]).graph for _ in range(2))

    net = registry.workload("cifar10-cnn").net(filters=4, units=8)
    images, _ = nets.batch(net, 2, 0)
    wanted = by_hand(net, nets.weights(net, 0), images.astype(np.float64))
    (found,) = reference.outputs(graph, images, dtype=np.float64)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    assert files.digest(again) == files.digest(graph)
    assert graph.name == "cifar10-cnn"


@REAL
def test_an_unsupported_layer_comes_back_with_its_name(own):
    with pytest.raises(AssayError, match="The layer 'gru' is a GRU") as caught:
        capture.capture_by_name(f"{own}:recurrent")
    assert caught.value.hint.startswith("Supported: Activation,")


@REAL
def test_a_mistake_in_a_users_file_is_told_in_its_words(own):
    with pytest.raises(AssayError, match="NameError: name 'missing_name' is not defined"):
        capture.capture_by_name(f"{own}:broken")


@REAL
def test_a_file_that_holds_no_model_is_refused(tmp_path):
    (tmp_path / "model.keras").write_bytes(b"PK nothing")

    with pytest.raises(AssayError, match="Keras cannot load a model from"):
        capture.capture_by_name(str(tmp_path / "model.keras"))


@pytest.mark.parametrize(
    "model, weights, what",
    [
        ("lost.keras", "", "There is no model file lost.keras"),
        ("mnist-mlp", "lost.npz", "There is no weights file lost.npz"),
        ("mnist-mlpp", "", "There is no workload named 'mnist-mlpp'"),
        ("mnist-mlp:unitz=3", "", "There is no parameter of mnist-mlp named 'unitz'"),
    ],
)
def test_what_can_be_told_without_keras_is_told_at_once(model, weights, what, monkeypatch):
    monkeypatch.setattr(capture.engines, "missing_reason", lambda: "")
    monkeypatch.setattr(capture, "_capture_in_process", None)

    with pytest.raises(UsageError, match=what):
        capture.capture_by_name(model, weights=weights)


def test_a_workload_without_a_keras_model_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(capture.engines, "missing_reason", lambda: "")
    (tmp_path / "plain.py").write_text("def work():\n    return print\n")

    with pytest.raises(UsageError, match="has no Keras model: it is made for python"):
        capture.capture_by_name(f"{tmp_path / 'plain.py'}:work")


def test_where_keras_lacks_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setattr(capture.engines, "installed_engine", lambda: "")

    with pytest.raises(AssayError, match="Keras is not installed here") as caught:
        capture.capture_by_name("mnist-mlp")
    assert (caught.value.status, caught.value.hint) == (3, "pip install 'assay-lab[jax]'")
