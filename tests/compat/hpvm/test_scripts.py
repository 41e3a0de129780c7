"""The words of HPVM's benchmark scripts, and the file they wrote."""

from __future__ import annotations

import pytest

from assay.compat.hpvm import scripts
from assay.core.errors import NotPossibleError
from assay.core.progress import ignore


@pytest.mark.parametrize("name", ["vgg16_cifar10.py", "vgg16_cifar10", "vgg16-cifar10"])
def test_a_script_is_found_by_its_old_name(name):
    assert scripts.read_words(name, ["keras_reload"]).workload == "vgg16-cifar10"


@pytest.mark.parametrize("words", [["train", "keras_dump"], ["hpvm_reload", "keras_dump"]])
def test_weights_may_be_dumped_after_the_first_word(words):
    found = scripts.read_words("lenet", words)

    assert (found.mode, found.dump) == (words[0], True)


@pytest.mark.parametrize(
    ("words", "compiled"),
    [
        (["train", "frontend"], ()),
        (["hpvm_reload", "frontend", "compile"], ("compile",)),
        (["keras_reload", "frontend", "compile", "compile_tuner"], ("compile", "compile_tuner")),
    ],
)
def test_the_frontend_and_the_compiler_come_in_hpvms_order(words, compiled):
    found = scripts.read_words("lenet", words)

    assert (found.mode, found.frontend, found.dump) == (words[0], True, False)
    assert found.compile == compiled


def test_without_a_compiler_nothing_is_evaluated_first(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    request = scripts.read_words("lenet", ["keras_reload", "frontend", "compile"])

    with pytest.raises(NotPossibleError, match="No C\\+\\+ compiler"):
        scripts.run_request(request, "jax", str(tmp_path), ignore)


def test_the_engine_is_the_one_asked_for_or_else_one_that_is_here(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    assert (scripts.engine_for("jax"), scripts.engine_for("")) == ("jax", "torch")

    monkeypatch.delenv("KERAS_BACKEND")
    monkeypatch.setattr(scripts.importlib.util, "find_spec", {"keras": 1, "jax": 1}.get)
    assert scripts.engine_for("") == "jax"
    monkeypatch.setattr(scripts.importlib.util, "find_spec", {"keras": 1, "tensorflow": 1}.get)
    assert scripts.engine_for("") == "tensorflow"


def test_final_accuracy_is_a_number_and_nothing_else(tmp_path):
    (tmp_path / "final_accuracy").write_text("an older one, and longer")

    scripts.write_accuracy(85.26, tmp_path)

    assert (tmp_path / "final_accuracy").read_text() == "85.26"
    assert [path.name for path in tmp_path.iterdir()] == ["final_accuracy"]
