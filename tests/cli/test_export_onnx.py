"""assay export-onnx writes a whole file or none, and says why."""

from __future__ import annotations

import numpy as np
import pytest

import assay as package
from assay.errors import UsageError
from assay.native import oracle
from assay.native.onnx_file import onnx_bytes

REAL = pytest.mark.real("keras", "jax", "onnxruntime")


@REAL
@pytest.mark.parametrize("file", ["net.keras", "net.h5"])
def test_a_saved_model_computes_the_same_in_onnxruntime(file, assay, tmp_path, keras):
    import onnxruntime

    layers = [keras.layers.Conv2D(3, 3, strides=2, padding="same"), keras.layers.Flatten()]
    layers += [keras.layers.Dense(4, activation="softmax")]
    model = keras.Sequential([keras.Input((6, 6, 2)), *layers])
    model.save(tmp_path / file)

    status, out, _ = assay("export-onnx", str(tmp_path / file), "-o", str(tmp_path / "n.onnx"))

    images = np.random.default_rng(0).normal(size=(5, 6, 6, 2)).astype(np.float32)
    session = onnxruntime.InferenceSession(tmp_path / "n.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"input": images})
    assert (status, out) == (0, f"{tmp_path / 'n.onnx'}\n")
    np.testing.assert_allclose(found, model.predict_on_batch(images), rtol=1e-4, atol=1e-6)


@REAL
def test_an_unsupported_layer_leaves_nothing_behind(assay, tmp_path):
    status, out, err = assay("export-onnx", "lstm", "-o", str(tmp_path / "lstm.onnx"))

    assert (status, out) == (2, "")
    assert "error: The layer 'lstm' is a LSTM, which cannot be captured." in err
    assert not list(tmp_path.glob("*onnx*"))


def test_another_suffix_is_refused_before_anything_is_built(assay, tmp_path):
    status, _, err = assay("export-onnx", "mnist-mlp", "-o", str(tmp_path / "model.pb"))

    assert status == 2
    assert "model.pb is no name for an ONNX file" in err


@pytest.mark.real("keras", "torch")
def test_the_python_twin_takes_a_model_that_is_built(tmp_path, keras):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, "relu")])

    graph = package.export_onnx(model, tmp_path / "net.onnx")

    assert (tmp_path / "net.onnx").read_bytes() == onnx_bytes(graph)
    values = np.ones((1, 4), np.float32)
    np.testing.assert_allclose(
        oracle.outputs(graph, values)[0], model.predict_on_batch(values), rtol=1e-5
    )


@pytest.mark.real("keras", "torch")
def test_a_model_that_is_built_takes_no_other_weights(tmp_path, keras):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])

    with pytest.raises(UsageError, match="with weights or parameters for it"):
        package.export_onnx(model, tmp_path / "net.onnx", weights="held.npz")
