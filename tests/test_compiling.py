"""Models compiled by name, from Python and from the command line."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from assay import capturing, compiling
from assay.compiling import compile_model
from assay.errors import AssayError, UsageError
from tests.datasets.making import SAMPLE
from tests.native.test_emit import small


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
        "three.weights",
    ]
    assert (made.input_shape, made.onednn) == ((2, 6, 6), False)


@pytest.mark.real("compiler")
def test_the_command_tells_the_program_and_how_to_run_it(assay, monkeypatch, tmp_path):
    monkeypatch.setattr(capturing, "graph_of", lambda *given: small("by-name"))

    status, out, err = assay("compile", "mnist-mlp", "--kernels", "portable", "-o", str(tmp_path))

    assert (status, out.strip()) == (0, str(tmp_path / "by-name"))
    assert "images of 2 x 6 x 6 float32" in err
    assert "its weights are untrained" in err


@pytest.mark.real("compiler", "keras", "torch")
def test_a_network_lies_beside_the_pictures_it_is_tested_on(assay, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    monkeypatch.chdir(tmp_path)
    weights = SAMPLE / "weights" / "resnet18.npz"

    status, out, err = assay("compile", "resnet18-cifar10", "--weights", str(weights))
    ran = subprocess.run([out.strip(), "-t", "tune"], capture_output=True, text=True, check=True)

    assert status == 0 and err.rstrip().endswith("build/resnet18-cifar10 -t test")
    assert "75 images" in ran.stdout
    assert float((tmp_path / "final_accuracy").read_text()) > 80


def test_the_pictures_that_are_not_here_are_named(assay, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))

    lacking = compiling.write_data("vgg16-cifar100", tmp_path / "data")

    assert "pictures of cifar100" in lacking and "assay data fetch" in lacking
    assert not (tmp_path / "data").exists()


def test_a_backend_has_no_place_in_the_name_of_a_model():
    with pytest.raises(UsageError, match="names a backend"):
        compiling.compile_model("alexnet2@native")


def test_a_model_that_is_built_takes_no_weights():
    with pytest.raises(UsageError, match="built already"):
        compile_model(small(), weights="more.npz")


@pytest.mark.real("compiler")
def test_a_file_in_the_place_of_the_folder_is_named(tmp_path):
    (tmp_path / "build").write_text("")

    with pytest.raises(AssayError, match="is a file, not a folder"):
        compile_model(small("three"), tmp_path / "build", kernels="portable")


def test_without_a_compiler_nothing_is_left(assay, monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")

    status, _, err = assay("compile", "alexnet2", "-o", str(tmp_path / "build"))

    assert status == 3
    assert "No C++ compiler was found here." in err and "apt-get install g++" in err
    assert not (tmp_path / "build").exists()


def test_a_workload_that_takes_weights_gets_them_as_its_own(tmp_path):
    """It alone knows the order in which its layers were made."""
    np.savez(tmp_path / "some.npz", nothing=np.zeros(1))

    asked = capturing._checked("resnet18-cifar10", tmp_path / "some.npz", {})

    assert (asked.weights, asked.params["weights"]) == ("", str(tmp_path / "some.npz"))
