"""Models written as ONNX from Python: by name, by file, or as they are."""

from __future__ import annotations

import numpy as np
import pytest

import assay as package
from assay.commands.export_onnx import export_onnx
from assay.core.errors import UsageError
from assay.measure.compiler import capture
from assay.native import reference
from assay.native.onnx.file import onnx_bytes


@pytest.mark.real("keras", "torch")
def test_the_python_twin_takes_a_model_that_is_built(tmp_path, keras):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, "relu")])

    made = package.export_onnx(model, tmp_path / "net.onnx")
    graph = made.graph

    assert (tmp_path / "net.onnx").read_bytes() == onnx_bytes(graph)
    values = np.ones((1, 4), np.float32)
    np.testing.assert_allclose(
        reference.outputs(graph, values)[0], model.predict_on_batch(values), rtol=1e-5
    )


@pytest.mark.real("keras", "torch")
def test_a_model_that_is_built_takes_no_other_weights(tmp_path, keras):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])

    with pytest.raises(UsageError, match="with weights or parameters"):
        package.export_onnx(model, tmp_path / "net.onnx", weights="held.npz")


def test_a_name_without_the_suffix_is_refused_with_one_that_has_it(tmp_path):
    with pytest.raises(UsageError, match="is no name for an ONNX file") as caught:
        export_onnx("mnist-mlp", tmp_path / "net")

    assert caught.value.hint == f"{tmp_path / 'net.onnx'} would be one."


@pytest.mark.real("keras")
def test_a_workload_that_has_no_keras_model_says_what_it_is_made_for(endings, tmp_path):
    with pytest.raises(UsageError, match="has no Keras model: it is made for python"):
        export_onnx(f"{endings}:fine", tmp_path / "fine.onnx")


@pytest.mark.real("keras")
def test_a_saved_model_takes_no_parameters(tmp_path, monkeypatch):
    """It is built already: what was asked for would be passed over in silence."""
    monkeypatch.setattr(
        capture, "_capture_in_process", lambda *_: pytest.fail("it was captured without")
    )
    (tmp_path / "net.keras").touch()

    with pytest.raises(UsageError, match="units"):
        export_onnx(str(tmp_path / "net.keras"), tmp_path / "net.onnx", params={"units": 3})
