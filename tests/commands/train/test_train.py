"""Trainings: what is refused, and real ones of a few steps on every engine."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

import assay
from assay.commands.train import api
from assay.core.errors import UsageError
from assay.core.recipe import Recipe
from tests.datasets.making import SAMPLE

EXAMPLES = Path(__file__).parents[3] / "examples"
ENGINES = ("jax", "tensorflow", "torch")
RECIPE = Recipe(epochs=2, batch_size=50, optimizer="adam", learning_rate=0.001)


@pytest.fixture(autouse=True)
def samples(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))


@pytest.mark.parametrize(
    ("case", "given", "complaint"),
    [
        ("lenet", {}, "names no backend to train on"),
        ("lenet@torch", {}, "torch cannot train by a recipe"),
        ("mnist-mlp@keras-jax", {}, "mnist-mlp has no recipe, and no method that trains it"),
        ("lenet@keras-jax", {"recipe": "lenett"}, "no recipe named 'lenett'"),
        (f"{EXAMPLES}/my_benchmark.py:Digits@keras-jax", {"epochs": 3}, "Digits trains itself"),
        ("vgg16-cifar100@keras-jax", {}, "vgg16-cifar100 has no recipe"),
    ],
)
def test_what_cannot_be_trained_is_said_before_a_process_starts(case, given, complaint, home):
    with pytest.raises(UsageError, match=complaint):
        assay.train(case, **given)
    assert not (home / "runs").exists()


def test_weights_go_from_one_form_into_another_without_a_framework(tmp_path):
    from assay.weights import files
    from assay.workloads.models.accuracy_nets import alexnet2
    from assay.workloads.net import nets

    arrays = nets.weights(alexnet2(), seed=3)
    files.write(tmp_path / "a.npz", arrays)

    api.export_weights("alexnet2", tmp_path / "a.npz", tmp_path / "bins")
    api.export_weights("alexnet2", tmp_path / "bins", tmp_path / "b.npz")

    found = files.read(tmp_path / "b.npz")
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], arrays[name]) for name in arrays)


@pytest.fixture(scope="module")
def lenets(tmp_path_factory):
    """What a short training on every engine ended as, each trained once for all tests."""
    found = {}

    def trained(engine):
        if engine not in found:
            folder = tmp_path_factory.mktemp(engine)
            found[engine] = (
                assay.train(
                    f"lenet@keras-{engine}",
                    recipe=RECIPE,
                    first=100,
                    save=folder / "lenet.npz",
                    store=folder,
                ),
                folder / "lenet.npz",
            )
        return found[engine]

    return trained


@pytest.mark.parametrize(
    "engine", [pytest.param(name, marks=pytest.mark.real("keras", name)) for name in ENGINES]
)
def test_every_engine_trains_and_tells_its_epochs(lenets, engine):
    result, weights = lenets(engine)

    assert result.status == "ok", result.reason
    assert len(result.values("epoch_time", "first")) == len(result.values("epoch_time")) == 1
    assert result.values("loss")[1] < result.values("loss")[0]
    assert sum(result.values("evaluated")) == 150
    # nothing is trained between the last epoch's test and the evaluation
    last = result.values("epoch_accuracy")[-1]
    assert assay.summarize(result).quantities["accuracy"].value == pytest.approx(last, abs=1e-4)
    with np.load(weights) as saved:
        assert saved["dense_1/kernel"].shape == (3136, 1024)


@pytest.mark.real("keras", *ENGINES)
def test_engines_agree_on_the_loss_of_a_training_without_dropout(lenets):
    losses = [lenets(engine)[0].values("loss") for engine in ENGINES]

    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert losses[2] == pytest.approx(losses[0], rel=1e-3)


@pytest.mark.real("keras", "torch")
def test_an_accuracy_below_the_expected_is_a_failure_of_a_whole_training_alone(lenets):
    cut = lenets("torch")[0]
    facts = {name: value for name, value in cut.facts.items() if name != "cut_short"}
    whole = msgspec.structs.replace(cut, facts=facts)

    assert assay.summarize(cut).checks == ()
    assert [check.verdict for check in assay.summarize(whole).checks] == ["fail"]
    assert "time_to_accuracy" not in assay.summarize(cut).quantities


@pytest.mark.parametrize(
    ("given", "cut"),
    [
        ({"first": 512, "epochs": 1}, "1 of {} epochs, the first 512 images"),
        ({"epochs": 1}, "1 of {} epochs"),
        ({"epochs": 1000}, ""),
        ({}, ""),
    ],
)
def test_a_plan_knows_what_makes_it_less_than_its_recipe(given, cut):
    found = api.make_plan("lenet@keras-jax", **given).training

    assert found.cut == cut.format(api.RECIPES["lenet"].epochs)


@pytest.mark.real("keras", "torch")
def test_a_file_that_cannot_be_written_after_all_costs_no_accuracy(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "_place", str)  # as if the folder had been lost on the way
    (tmp_path / "file").touch()

    found = assay.train(
        "lenet@keras-torch", recipe=RECIPE, first=50, save=tmp_path / "file" / "lenet.npz"
    )

    assert found.status == "ok", found.reason
    assert "lenet.npz was not written" in str(found.facts["save_problem"])
    assert "accuracy" in assay.summarize(found).quantities


@pytest.mark.real("keras", "torch")
def test_a_class_trains_itself_and_is_evaluated_from_its_file(tmp_path):
    case = f"{EXAMPLES}/my_benchmark.py:Digits@keras-torch"

    trained = assay.train(case, save=tmp_path / "digits.npz")
    (evaluated,) = assay.evaluate(case, weights=tmp_path / "digits.npz")

    summaries = [assay.summarize(result) for result in (trained, evaluated)]
    assert (trained.status, evaluated.status) == ("ok", "ok"), trained.reason + evaluated.reason
    assert len(trained.values("train_time")) == 1
    assert [check.verdict for summary in summaries for check in summary.checks] == ["pass"] * 2
    assert trained.values("correct") == evaluated.values("correct")


@pytest.mark.real("keras", "torch")
def test_the_speed_of_a_benchmark_class_is_measured_as_any_other():
    (result,) = assay.run(
        f"{EXAMPLES}/hpvm_benchmark.py:TinyNet_CIFAR10@keras-torch",
        procedure=assay.Procedure(budget=0.1, samples=2),
    )

    assert result.status == "ok", result.reason
    assert len(result.values("step_time")) == 2
    assert result.items == 100
    assert result.facts["data_format"] == "channels_first"
