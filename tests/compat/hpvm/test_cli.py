"""assay hpvm: HPVM's words as they were typed, and what the scripts printed and wrote."""

from __future__ import annotations

import json
import subprocess
from functools import partial
from pathlib import Path

import pytest

from assay.native.hpvm import program
from tests.datasets.making import SAMPLE
from tests.native.hpvm.test_program import HAND

TINY = f"{Path(__file__).parents[3]}/examples/hpvm_benchmark.py:TinyNet_CIFAR10"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "Nothing stands where HPVM's scripts take hpvm_reload, keras_reload, train"),
        (["reload"], "'reload' stands where"),
        (["keras_relod"], "Did you mean keras_reload? [hpvm_reload|keras_reload|train]"),
        (["train", "fronted"], "Did you mean frontend? [hpvm_reload|"),
        (["train", "compile"], "'compile' is no word of HPVM's scripts in that place"),
        (["train", "keras_dump", "keras_dump"], "'keras_dump' is no word"),
    ],
)
def test_words_out_of_place_are_refused(assay, words, complaint):
    status, _, error = assay("hpvm", "lenet", *words)

    assert status == 2
    assert complaint in error


@pytest.mark.real("keras", "torch")
def test_weights_that_are_not_here_are_said_and_no_accuracy_is_written(assay, tmp_path):
    status, out, _ = assay("hpvm", "lenet", "hpvm_reload", "--keras_backend", "torch")

    assert status == 3
    assert out.startswith("skipped: model_params/lenet_mnist is not here")
    assert not (tmp_path / "final_accuracy").exists()


@pytest.mark.real("keras", "jax", "torch", "h5py")
def test_a_class_is_trained_dumped_and_loaded_again_on_another_engine(assay, tmp_path):
    words = ("hpvm", TINY)
    assert assay(*words, "train", "keras_dump", "--keras_backend", "torch")[0] == 0
    trained = float((tmp_path / "final_accuracy").read_text())

    status, out, error = assay(*words, "keras_reload", "--keras_backend", "jax")

    assert status == 0, error
    assert out == f"Test accuracy2: {trained / 100}\n"
    assert (tmp_path / "tinynet.h5").exists()


def test_weights_that_are_not_here_are_asked_for_in_words_hpvm_has(assay, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))

    status, out, _ = assay("hpvm", "alexnet2", "keras_reload")

    assert status == 3
    assert "--weights" not in out


@pytest.mark.real("compiler")
def test_a_program_is_run_and_its_ending_told(assay, tmp_path, cache_home, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))

    status, out, error = assay("hpvm", "run", str(HAND), "--data", str(tmp_path))

    assert (status, out) == (2, "")
    assert "There is no readable file model_params/residual/w0.bin, also not in" in error


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("no.cc",), "There is no program no.cc"),
        (("no.cc", "--data", "nowhere"), "There is no folder nowhere"),
        (("no.cc", "-c", "no.txt"), "no.txt cannot be read"),
        (("no.cc", "-t", "train"), "images is 'train', but has to be one of: test, tune"),
    ],
)
def test_what_cannot_be_run_is_refused_before_it_is_compiled(assay, words, complaint):
    status, _, error = assay("hpvm", "run", *words)

    assert status == 2
    assert complaint in error


@pytest.mark.real("keras", "tensorflow")
@pytest.mark.parametrize("words", [("lenet", "keras_reload"), ("test", "lenet")])
def test_options_may_stand_before_the_words(assay, tmp_path, monkeypatch, words):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))

    status, out, error = assay("hpvm", "--home", str(tmp_path / "home"), *words)

    assert status == 3, error
    assert "lenet_mnist.h5 is not here" in out


def test_what_the_networks_need_is_told_where_there_are_no_weights(assay, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))

    status, out, _ = assay("hpvm", "test", "lenet", "vgg16_imagenet.py", "--format", "json")

    rows = json.loads(out)["rows"]
    assert status == 3
    assert [(row["net"], row["verdict"]) for row in rows] == [
        ("lenet", "not tested"),
        ("vgg16-imagenet", "not tested"),
    ]
    assert "model_params/keras/lenet_mnist.h5 is not here" in rows[0]["needs"]
    assert assay("hpvm", "test", "mnist-mlp")[0] == 2


@pytest.mark.real("keras", "jax", "h5py", "compiler")
def test_a_class_goes_through_all_of_hpvms_words(assay, tmp_path, cache_home, monkeypatch):
    """Trained, translated and compiled at once; then loaded from what was written."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache_home))
    portable = partial(program.ModelSettings, kernels="portable")  # a runtime that others share
    monkeypatch.setattr(program, "ModelSettings", portable)
    engine = ("--keras_backend", "jax")

    status, out, error = assay(
        "hpvm", TINY, "train", "frontend", "compile", "compile_tuner", *engine
    )

    assert status == 0, error
    trained = float(Path("final_accuracy").read_text())
    src = Path("src/tinynet_src")
    assert out.splitlines()[1:] == [
        str(src),
        str(src / "HPVM_binary"),
        str(src / "HPVM_tuner_binary"),
    ]
    assert Path("working_dir.txt").read_text() == str(src)
    subprocess.run([str(src.absolute() / "HPVM_binary")], check=True, env={"ASSAY_CHOOSE": "0"})
    assert abs(float(Path("final_accuracy").read_text()) - trained) < 0.05

    Path("tinynet_bins").symlink_to("data/tinynet")
    status, out, error = assay("hpvm", TINY, "hpvm_reload", "keras_dump", *engine)

    assert status == 0, error
    assert out.splitlines()[0] == f"Test accuracy2: {trained / 100}"
    assert Path("tinynet.h5").exists() and Path("data/tinynet/conv2d_1_w.bin").exists()


@pytest.mark.real("keras", "tensorflow")
def test_no_training_is_advised_for_a_network_without_a_recipe(assay, tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))

    assert "train it" not in assay("hpvm", "vgg16_imagenet", "keras_reload")[1]
    assert "train it" in assay("hpvm", "lenet", "keras_reload")[1]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("lenett", "train"), "There is no network or command named 'lenett'"),
        (("tset",), "Did you mean 'test'?"),
        (("lenet", "train", "--keras_backend", "theano"), "any more"),
    ],
)
def test_an_unknown_network_or_engine_is_refused(assay, tmp_path, words, complaint):
    status, out, error = assay("hpvm", *words)

    assert (status, out) == (2, "")
    assert complaint in error
    assert not (tmp_path / "final_accuracy").exists()
