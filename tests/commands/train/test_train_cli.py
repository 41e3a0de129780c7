"""assay train as it is typed."""

from __future__ import annotations

import json

import pytest

from tests.datasets.making import SAMPLE


@pytest.fixture(autouse=True)
def samples(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))


@pytest.mark.parametrize("words", [(), ("lenet@keras-jax", "--resume", "last")])
def test_a_case_or_a_run_to_resume_is_needed(assay, words):
    status, _, error = assay("train", *words)

    assert status == 2
    assert "takes a case, or --resume with a run" in error


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--epochs", "-1"), "epochs is -1, but has to be 0 or more"),
        (("--until", "101"), "until is 101.0, but has to be 100 or less"),
        (("--recipe", "vgg"), "no recipe named 'vgg'"),
    ],
)
def test_a_wrong_value_is_refused(assay, words, complaint):
    status, _, error = assay("train", "lenet@keras-jax", *words)

    assert status == 2
    assert complaint in error


@pytest.mark.parametrize(
    ("place", "complaint"),
    [
        ("lenet.txt", "cannot be written as lenet.txt"),
        ("file.npz/lenet.npz", "file.npz is no folder"),
    ],
)
def test_a_place_for_the_weights_that_cannot_be_is_refused_before_the_training(
    assay, tmp_path, home, place, complaint
):
    (tmp_path / "file.npz").touch()

    status, _, error = assay("train", "lenet@keras-jax", "--save", str(tmp_path / place))

    assert status == 2
    assert complaint in error
    assert not (home / "runs").exists()


@pytest.mark.real("keras", "torch")
def test_a_training_shows_its_epochs_its_table_and_what_it_was_trained_by(assay, tmp_path, home):
    words = ("train", "lenet@keras-torch", "--first", "20", "--epochs", "3", "--until", "1")
    status, out, error = assay(*words, "--save", str(tmp_path / "lenet.npz"))
    _, shown, _ = assay("show", "last", "--format", "json")

    result = json.loads(shown)["results"][0]
    recipe = json.loads(result["facts"]["recipe"])
    assert status == 0  # below 98.70 %, but cut short by the one who asked
    assert "the first 20 images); 98.70 %" in out
    assert f"weights: {tmp_path / 'lenet.npz'}" in error
    assert f"weights: {home / 'runs' / result['id'] / 'weights.npz'}" in error
    assert "epoch 1 of 3" in error
    assert "epoch 2 of 3" not in error  # more than 1 % were right
    assert (recipe["epochs"], result["facts"]["train_first"]) == (3, 20)
    assert result["summary"]["train_time"]["unit"] == "s"
    assert not result["checks"]
