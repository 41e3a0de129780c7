"""Recipes as data: what they refuse, where they are found."""

from __future__ import annotations

import msgspec
import pytest

from assay.commands.train.api import recipe_of
from assay.core.errors import UsageError
from assay.core.recipe import Augmentation, Recipe
from assay.workloads.accuracy import TEN
from assay.workloads.models.recipes import RECIPES

GOOD = {"epochs": 1, "batch_size": 2, "optimizer": "adam", "learning_rate": 0.1}


@pytest.mark.parametrize(
    ("part", "value"),
    [("epochs", 0), ("batch_size", 0), ("learning_rate", 0), ("label_smoothing", 1)],
)
def test_a_recipe_that_cannot_train_is_refused(part, value):
    with pytest.raises(UsageError, match=f"{part} of a recipe is {value}"):
        Recipe(**GOOD | {part: value})


@pytest.mark.parametrize(("part", "value"), [("shift", -1), ("rotation", 200)])
def test_a_change_that_cannot_be_is_refused(part, value):
    with pytest.raises(UsageError, match=f"{part} of a recipe is {value}"):
        Augmentation(**{part: value})


def test_the_six_have_recipes_and_the_others_none():
    having = {net.name for net in TEN if net.recipe}

    assert having == set(RECIPES)
    assert len(having) == 6


def test_a_recipe_is_read_from_a_file(tmp_path):
    toml, json = tmp_path / "mine.toml", tmp_path / "mine.json"
    toml.write_text(
        'epochs = 3\nbatch_size = 8\noptimizer = "sgd"\nlearning_rate = 0.1\n'
        "[augmentation]\nshift = 2\n"
    )
    json.write_bytes(msgspec.json.encode(recipe_of(str(toml))))

    assert recipe_of(str(toml)).augmentation.shift == 2
    assert recipe_of(str(json)) == recipe_of(str(toml))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("epochs = 3", "missing required field"),
        ("epochs = 0\nbatch_size=1\noptimizer='adam'\nlearning_rate=1.0", "epochs of a recipe"),
        ("epochs = ", "is no recipe"),
    ],
)
def test_a_file_that_is_no_recipe_says_why(tmp_path, text, complaint):
    path = tmp_path / "mine.toml"
    path.write_text(text)

    with pytest.raises(UsageError, match=complaint):
        recipe_of(str(path))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.toml cannot be read \(No such file"):
        recipe_of(str(tmp_path / "nowhere.toml"))


def test_an_unknown_recipe_suggests_the_nearest():
    with pytest.raises(UsageError, match="no recipe named 'lenett'") as caught:
        recipe_of("lenett")
    assert caught.value.hint == "Did you mean 'lenet'?"
