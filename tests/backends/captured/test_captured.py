"""ONNX Runtime and OpenVINO infer what Keras would, and are taken only where nothing trains."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from assay.backends.captured import CapturedJob
from assay.backends.keras import engines
from assay.core import registry
from assay.core.errors import UsageError
from assay.measure import plan
from assay.native import ops, reference
from tests.backends.opened import SMALL, case, opened
from tests.backends.test_same_outputs import expected, near
from tests.native.making import Making
from tests.native.random_graphs import inputs_for

ONLY = ("onnxruntime", "openvino")


@pytest.mark.parametrize(
    "backend, data_format",
    [
        pytest.param(name, data_format, marks=pytest.mark.real("keras", "jax", name))
        for name, data_format in (
            ("onnxruntime", "channels_last"),
            ("openvino", "channels_first"),
        )
    ],
)
def test_outputs_are_those_of_numpy_in_either_layout(backend, data_format, tmp_path):
    text = f"{SMALL['cifar10-cnn']}@{backend}:data_format={data_format},threads=1"

    with opened(text, tmp_path) as session:
        session.step(3)
        found, facts = session.outputs(), session.facts

    assert near(found, expected("cifar10-cnn"))
    assert (facts["mode"], facts["threads"], facts["compute_dtype"]) == ("infer", 1, "float32")
    assert facts["data_format"] == data_format
    assert (
        facts["parameters"] == registry.workload("cifar10-cnn").net(filters=4, units=8).parameters()
    )


@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=pytest.mark.real(name)) for name in ONLY]
)
@pytest.mark.parametrize("channels_first", [True, False])
def test_other_pictures_than_the_batch_are_predicted(backend, channels_first):
    made = Making(*(3, 4, 5) if channels_first else (4, 5, 3))
    image = made.input if channels_first else made.add(ops.TransposeOp((2, 0, 1)), made.input)
    graph = made.graph(made.add(ops.GlobalPoolOp("max"), made.conv(image, 6)))
    opened_for, given = inputs_for(graph)[0], np.random.default_rng(5).random((2, 4, 5, 3))
    held = CapturedJob(
        graph=graph,
        inputs=(opened_for,),
        items=2,
        parameters=0,
        channels_first=channels_first,
    )
    module = import_module(f"assay.backends.captured.{backend}")

    session = module.open_session(held, plan.expand_cases([f"mnist-mlp@{backend}"])[0])

    laid = given.transpose(0, 3, 1, 2) if channels_first else given
    (wanted,) = reference.outputs(graph, laid)
    np.testing.assert_allclose(session.predict(given), wanted, rtol=1e-5)
    (own,) = reference.outputs(graph, opened_for)
    np.testing.assert_allclose(session.outputs(), own, rtol=1e-5)


@pytest.mark.parametrize("backend", ONLY)
def test_a_backend_that_only_infers_refuses_to_train(backend):
    with pytest.raises(UsageError, match=f"mode of {backend} is 'train'"):
        plan.expand_cases([f"mnist-mlp@{backend}:mode=train"])


def test_a_backend_that_only_infers_is_taken_where_inference_is_asked_for(monkeypatch):
    monkeypatch.setattr(engines, "installed_engine", lambda: "jax")
    monkeypatch.setattr("assay.backends.options.missing_reason", lambda modules, extra: "")

    def chosen(**options):
        return {case.backend for case in plan.expand_cases(["mnist-mlp"], options=options)}

    assert not set(ONLY) & chosen()
    assert not set(ONLY) & chosen(mode=["train", "infer"])
    assert set(ONLY) < chosen(mode=["infer"])


@pytest.mark.parametrize("backend", ONLY)
def test_what_is_missing_is_told_with_the_command_that_installs_it(backend, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name != backend or None)

    told = registry.backend(backend).missing()

    assert told == f"{backend} is not installed here: pip install 'assay-lab[{backend}]'"


def test_without_an_engine_no_keras_model_is_captured(monkeypatch):
    asked = case("mnist-mlp@onnxruntime")
    gone = {*engines.ENGINES}
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name in gone else name)

    told = registry.backend("onnxruntime").refuses(asked)

    assert told == "Keras is not installed here with an engine: pip install 'assay-lab[jax]'"


def test_expected_outputs_differ_between_items():
    """So that outputs in the wrong order could not pass for right."""
    found = expected("cifar10-cnn")

    assert np.abs(found[0] - found[1]).max() > 1e-3 * np.abs(found).max()
