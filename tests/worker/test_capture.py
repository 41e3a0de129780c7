"""The process that captures a model: a graph beside its request, or a refusal in words."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import numpy as np
import pytest

from assay.core.messages import CaptureRefused, CaptureRequest
from assay.native import files, reference
from assay.worker import capture

pytestmark = [pytest.mark.real("keras", "jax"), pytest.mark.usefixtures("keras")]
FILE = """
import keras


def net(units=4):
    return keras.Sequential([keras.Input((3,)), keras.layers.Dense(units)])
"""
KERNEL = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "own.py"
    path.write_text(FILE)
    return path


@pytest.fixture
def held(tmp_path):
    """Weights of a net with four units."""
    path = tmp_path / "held.npz"
    np.savez(path, **{"dense_1/kernel": KERNEL, "dense_1/bias": np.ones(4)})
    return path


@pytest.fixture
def captured(tmp_path, monkeypatch):
    """A model → its graph, or why there is none; without a process of its own."""

    def run(model, **request):
        asked = CaptureRequest(model=str(model), **request)
        (tmp_path / "asked.json").write_bytes(msgspec.json.encode(asked))
        monkeypatch.setattr(sys, "argv", ["capture", str(tmp_path)])
        capture.main()
        refused = tmp_path / "refused.json"
        if refused.exists():
            assert not (tmp_path / "graph.npz").exists()
            return msgspec.json.decode(refused.read_bytes(), type=CaptureRefused)
        return files.read(tmp_path / "graph.npz")

    return run


def test_a_graph_is_named_after_the_function_or_the_file(captured, own, tmp_path, keras):
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(tmp_path / "mine.keras")

    assert captured(f"{own}:net").name == "net"
    assert captured(tmp_path / "mine.keras").name == "mine"


def test_parameters_go_to_the_workload(captured, own):
    graph = captured(f"{own}:net", params={"units": 7})

    (found,) = reference.outputs(graph, np.ones((1, 3), np.float32))
    assert found.shape == (1, 7)


def test_weights_from_a_file_take_the_place_of_the_models_own(captured, own, held):
    graph = captured(f"{own}:net", weights=str(held))

    (found,) = reference.outputs(graph, np.ones((1, 3), np.float32))
    np.testing.assert_array_equal(found, [KERNEL.sum(0) + 1])


def test_weights_that_do_not_fit_are_refused_with_the_layer(captured, own, held):
    refused = captured(f"{own}:net", weights=str(held), params={"units": 5})

    assert "do not fit the model: layer dense_1" in refused.sentence
    assert refused.status == 2


@pytest.mark.parametrize("content", [b"", b"PK nothing", b"\x89HDF\r\n\x1a\n nothing"])
@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_a_file_that_holds_no_model_is_refused_in_one_sentence(captured, tmp_path, content, suffix):
    file = tmp_path / f"model{suffix}"
    file.write_bytes(content)

    refused = captured(file)

    assert refused.sentence.startswith(f"Keras cannot load a model from {file} (")
    assert "\n" not in refused.sentence
    assert refused.status == 2


def test_what_a_workload_lacks_is_refused_as_what_it_is(captured, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))
    params = {"batch_size": 1, "seed": 0, "weights": "trained", "data": "own"}

    refused = captured("lenet", params=params)

    assert refused.sentence.startswith("lenet cannot be built: ")
    assert "weights" in refused.sentence


def test_without_a_request_the_process_fails(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "assay.worker.capture", str(tmp_path)], capture_output=True
    )

    assert ran.returncode == 1
    assert b"FileNotFoundError" in ran.stderr
