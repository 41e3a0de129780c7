"""Models compiled by name, from Python."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from assay.commands.compile import api
from assay.commands.compile.api import compile_model
from assay.core.errors import AssayError, UsageError
from assay.measure.compiler import capture
from assay.native import expected
from assay.native.compile import InstalledProgram
from assay.native.graph import Value
from tests.datasets.making import SAMPLE
from tests.native.test_emit import small
from tests.native.test_onnx_import import HELD, written
from tests.native.test_onnx_import import NETS as ONNX

TINY = f"{Path(__file__).parents[3]}/examples/hpvm_benchmark.py:TinyNet_CIFAR10"


@pytest.fixture(autouse=True)
def kept(cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))


@pytest.mark.real("compiler")
def test_a_folder_gets_the_program_its_weights_and_its_source(tmp_path):
    made = compile_model(small("three"), tmp_path / "build", kernels="portable")

    assert made.program == tmp_path / "build" / "three"
    assert sorted(path.name for path in (tmp_path / "build").iterdir()) == [
        "three",
        "three.cpp",
        "three.lines",
        "three.weights",
    ]
    assert ([value.shape for value in made.inputs], made.onednn) == ([(2, 6, 6)], False)


@pytest.mark.real("compiler", "keras", "jax")
def test_a_program_is_judged_by_keras_before_it_is_handed_over(keras, tmp_path):
    layers = [keras.layers.Conv2D(4, 3, activation="relu"), keras.layers.Flatten()]
    model = keras.Sequential([keras.Input((6, 5, 2)), *layers, keras.layers.Dense(3)], name="net")

    made = compile_model(model, tmp_path / "build", kernels="portable")

    assert made.judge == "Keras"
    assert 0 <= made.difference < 1e-5


@pytest.mark.real("compiler", "keras", "jax")
def test_a_file_of_ones_own_has_the_same_weights_each_time_and_is_built_once(tmp_path):
    file = tmp_path / "mine.py"
    net = "keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)])"
    file.write_text(f"import keras\n\n\ndef net():\n    return {net}\n")

    first, second = (
        compile_model(f"{file}:net", tmp_path / name, kernels="portable") for name in ("a", "b")
    )

    assert (first.cached, second.cached) == (False, True)
    assert first.files[1].read_bytes() == second.files[1].read_bytes()


@pytest.mark.real("compiler")
def test_a_program_that_computes_something_else_is_not_handed_over(assay, monkeypatch, tmp_path):
    graph = small("wrong")
    right = expected.sample_reference(graph)
    wrong = msgspec.structs.replace(right, judge="Keras", outputs=(right.outputs[0] * 1.001,))
    found = capture.CapturedModel(graph, wrong)
    monkeypatch.setattr(capture, "capture_by_name", lambda *given: found)
    build = tmp_path / "build"

    status, out, err = assay("compile", "mnist-mlp", "--kernels", "portable", "-o", str(build))

    assert (status, out) == (1, "")
    assert "wrong is wrong: its output 'soft' differs from Keras by 0.001 of the largest" in err
    assert not build.exists()


MADE = InstalledProgram(
    program=Path("vgg16-cifar100"),
    files=(),
    layers=1,
    inputs=(Value("input", (3, 32, 32), "channels_first"),),
    cached=False,
    onednn=False,
    judge="Keras",
    difference=0.0,
)


def test_the_pictures_that_are_not_here_are_named(assay, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))

    lacking = api.write_data("vgg16-cifar100", MADE, tmp_path / "data")

    assert "images of cifar100" in lacking and "assay data fetch" in lacking
    assert not (tmp_path / "data").exists()


@pytest.mark.real("keras", "jax")
def test_a_class_of_ones_own_writes_the_pictures_of_its_own_methods(monkeypatch, tmp_path):
    """In a worker, as its file is the user's; a program that takes others is told."""
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    folder = tmp_path / "tiny.data"

    lacking = api.write_data(TINY, MADE, folder)

    assert lacking == ""
    with np.load(SAMPLE / "cifar10.npz") as file:
        images, labels = file["x_test"], file["y_test"].reshape(-1)
    half = len(labels) // 2
    wanted = images.transpose(0, 3, 1, 2).astype(np.float32) / 255
    for split, part in (("test", slice(half)), ("tune", slice(half, None))):
        held = np.fromfile(folder / f"{split}_input.bin", np.float32)
        np.testing.assert_array_equal(held, wanted[part].reshape(-1))
        held = np.fromfile(folder / f"{split}_labels.bin", np.uint32)
        np.testing.assert_array_equal(held, labels[part])
    assert (folder / "layout.txt").read_text() == f"{MADE.takes}\n"


@pytest.mark.real("keras", "jax")
def test_a_backend_has_no_place_in_the_name_of_a_model():
    with pytest.raises(UsageError, match="names a backend"):
        api.compile_model("alexnet2@native")


def test_a_model_that_is_built_takes_no_weights():
    with pytest.raises(UsageError, match="A built model"):
        compile_model(small(), weights="more.npz")


@pytest.mark.real("compiler")
def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "build").write_text("")

    with pytest.raises(AssayError, match="is a file, not a folder"):
        compile_model(small("three"), tmp_path / "build", kernels="portable")


def test_a_workload_that_takes_weights_gets_them_as_its_own(tmp_path):
    """It alone knows the order in which its layers were made."""
    np.savez(tmp_path / "some.npz", nothing=np.zeros(1))

    asked = capture._make_request("resnet18-cifar10", tmp_path / "some.npz", {})

    assert (asked.weights, asked.params["weights"]) == ("", str(tmp_path / "some.npz"))


@pytest.mark.real("compiler", "onnx", "onnxruntime")
def test_an_onnx_file_becomes_a_program_judged_by_onnx_runtime(tmp_path):
    path = written(tmp_path / "net.onnx", ONNX["by its shape"], weights=HELD)

    made = compile_model(str(path), tmp_path / "build", kernels="portable")

    assert made.program == tmp_path / "build" / "net"
    assert (made.judge, made.difference < 1e-5) == ("ONNX Runtime", True)


@pytest.mark.real("onnx")
def test_an_onnx_file_takes_no_weights(tmp_path):
    path = written(tmp_path / "net.onnx", ONNX["leaky"])

    with pytest.raises(UsageError, match="takes no weights or parameters"):
        compile_model(str(path), weights="more.npz")
