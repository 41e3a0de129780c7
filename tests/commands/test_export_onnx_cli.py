"""assay export-onnx writes a whole file or none, and says why."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from assay.commands import export_onnx
from assay.measure.compiler import capture
from assay.native import expected
from tests.native.test_emit import small

REAL = pytest.mark.real("keras", "jax", "onnxruntime")


@REAL
@pytest.mark.parametrize("file", ["net.keras", "net.h5"])
def test_a_saved_model_computes_the_same_in_onnxruntime(file, assay, tmp_path, keras):
    import onnxruntime

    layers = [keras.layers.Conv2D(3, 3, strides=2, padding="same"), keras.layers.Flatten()]
    layers += [keras.layers.Dense(4, activation="softmax")]
    model = keras.Sequential([keras.Input((6, 6, 2)), *layers])
    model.save(tmp_path / file)

    status, out, err = assay("export-onnx", str(tmp_path / file), "-o", str(tmp_path / "n.onnx"))

    images = np.random.default_rng(0).normal(size=(5, 6, 6, 2)).astype(np.float32)
    session = onnxruntime.InferenceSession(tmp_path / "n.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"input": images})
    assert (status, out) == (0, f"{tmp_path / 'n.onnx'}\n")
    np.testing.assert_allclose(found, model.predict_on_batch(images), rtol=1e-4, atol=1e-6)
    assert "checked: ONNX Runtime differs from Keras by at most" in err


@pytest.mark.real("onnxruntime")
def test_a_file_that_computes_something_else_is_not_written(assay, monkeypatch, tmp_path):
    graph = small("net")
    right = expected.sample_reference(graph)
    wrong = msgspec.structs.replace(right, judge="Keras", outputs=(right.outputs[0] * 1.001,))
    found = capture.CapturedModel(graph, wrong)
    monkeypatch.setattr(capture, "capture_by_name", lambda *given: found)

    status, _, err = assay("export-onnx", "mnist-mlp", "-o", str(tmp_path / "net.onnx"))

    assert status == 1
    assert "net as ONNX is wrong: its output 'soft' differs from Keras by 0.001" in err
    assert not list(tmp_path.glob("*onnx*"))


def test_without_onnx_runtime_it_says_that_nothing_was_checked(assay, monkeypatch, tmp_path):
    graph = small("net")
    found = capture.CapturedModel(graph, expected.sample_reference(graph))
    monkeypatch.setattr(capture, "capture_by_name", lambda *given: found)
    monkeypatch.setattr(export_onnx.importlib.util, "find_spec", lambda name: None)

    status, _, err = assay("export-onnx", "mnist-mlp", "-o", str(tmp_path / "net.onnx"))

    assert status == 0
    assert "not checked: ONNX Runtime is not installed" in err


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
