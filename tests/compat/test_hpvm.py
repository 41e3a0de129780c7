"""HPVM's benchmark scripts, as their users called them."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.compat import hpvm
from assay.errors import NotPossibleError
from tests.datasets.making import SAMPLE

TINY = f"{Path(__file__).parents[2]}/examples/hpvm_benchmark.py:TinyNet_CIFAR10"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", ["vgg16_cifar10.py", "vgg16_cifar10", "vgg16-cifar10"])
def test_a_script_is_found_by_its_old_name(name):
    assert hpvm.asked(name, ["keras_reload"]).workload == "vgg16-cifar10"


@pytest.mark.parametrize("words", [["train", "keras_dump"], ["hpvm_reload", "keras_dump"]])
def test_weights_may_be_dumped_after_the_first_word(words):
    found = hpvm.asked("lenet", words)

    assert (found.mode, found.dump) == (words[0], True)


@pytest.mark.parametrize(
    "words", [["train", "frontend"], ["keras_reload", "frontend", "compile", "compile_tuner"]]
)
def test_what_only_hpvm_can_do_leads_to_our_compiler(words):
    with pytest.raises(NotPossibleError, match="frontend is HPVM's own compiler") as caught:
        hpvm.asked("lenet", words)
    assert "assay compile lenet" in caught.value.hint


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


def test_final_accuracy_is_a_number_and_nothing_else(tmp_path):
    (tmp_path / "final_accuracy").write_text("an older one, and longer")

    hpvm.write_accuracy(85.26, tmp_path)

    assert (tmp_path / "final_accuracy").read_text() == "85.26"
    assert [path.name for path in tmp_path.iterdir()] == ["final_accuracy"]


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
