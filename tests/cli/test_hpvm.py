"""assay hpvm: HPVM's words as they were typed, and what the scripts printed and wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.datasets.making import SAMPLE

TINY = f"{Path(__file__).parents[2]}/examples/hpvm_benchmark.py:TinyNet_CIFAR10"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "Nothing stands where HPVM's scripts take hpvm_reload, keras_reload, train"),
        (["reload"], "'reload' stands where"),
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


def test_what_only_hpvm_can_do_leaves_with_3(assay):
    status, out, error = assay("hpvm", "lenet", "keras_reload", "frontend")

    assert (status, out) == (3, "")
    assert "assay compile lenet" in error


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("lenett", "train"), "no workload named 'lenett'"),
        (("lenet", "train", "--keras_backend", "theano"), "any more"),
    ],
)
def test_an_unknown_network_or_engine_is_refused(assay, tmp_path, words, complaint):
    status, out, error = assay("hpvm", *words)

    assert (status, out) == (2, "")
    assert complaint in error
    assert not (tmp_path / "final_accuracy").exists()
