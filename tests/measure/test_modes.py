"""What a plan requests of a worker beside its speed: which orders, which facts, what is missing."""

from __future__ import annotations

import shutil

import msgspec
import pytest

from assay.core.case_text import parse_case
from assay.core.errors import UsageError
from assay.core.messages import Evaluate, ProfileSteps, Train
from assay.core.recipe import Recipe, Training
from assay.core.records import Evaluation, Plan, Procedure
from assay.measure import modes, plan
from assay.testing import FakeCase, FakeWorker
from tests.datasets.making import SAMPLE

RECIPE = Recipe(epochs=2, batch_size=50, optimizer="adam", learning_rate=0.001)


@pytest.fixture(autouse=True)
def samples(monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))


@pytest.fixture
def place(tmp_path):
    """The folder of the third case of a run."""
    run = tmp_path / "home" / "runs" / "run"
    for name in ("001", "002", "003"):
        (run / name).mkdir(parents=True)
    return run / "003"


def planned(case="lenet@torch", **fields):
    return Plan(cases=(plan.resolve(parse_case(case)),), **fields)


def requested(made, folder):
    return modes.mode_of(made, made.cases[0], folder)


def orders(made, folder):
    """What the worker of the case is ordered."""
    worker = FakeWorker()
    one = FakeCase(worker, made.procedure, case=made.cases[0])
    one.start()
    one.open()
    requested(made, folder).drive(one)
    return worker.requests


def test_a_plan_that_asks_for_nothing_else_leaves_the_case_to_be_timed(place):
    assert requested(planned(), place) == modes.SPEED


def test_a_profile_is_so_many_steps_with_a_trace_beside_the_result(place):
    made = planned(verb="profile", procedure=Procedure(samples=3))

    assert orders(made, place)[-1] == ProfileSteps(folder=str(place / "profile"), steps=3)
    assert requested(made, place).facts == {"profiled": True}


def test_an_evaluation_leaves_its_predictions_beside_the_result(place):
    made = planned(evaluation=Evaluation(split="tune", first=9))

    *_, last = orders(made, place)

    assert last == Evaluate(split="tune", first=9, file=str(place / modes.PREDICTIONS_FILE))


@pytest.mark.parametrize(
    ("case", "evaluation", "expected"),
    [
        ("lenet@torch", Evaluation(), (98.70, 0.05, "at least")),
        ("lenet@torch", Evaluation(expected=50.0, tolerance=1.0), (50.0, 1.0, "within")),
        ("mnist-mlp@torch", Evaluation(expected=50.0), (50.0, 0.05, "within")),
        ("mnist-mlp@torch", Evaluation(), ()),
    ],
)
def test_what_is_expected_is_what_was_asked_or_what_the_workload_is_known_for(
    place, case, evaluation, expected
):
    facts = requested(planned(case, evaluation=evaluation), place).facts

    names = ("expected_accuracy", "tolerance", "expectation")
    assert tuple(facts[name] for name in names if name in facts) == expected


def test_a_training_comes_before_its_evaluation_and_its_result_says_how_it_was(place):
    training = Training(recipe=RECIPE, until=90.0, first=50, cut="the first 50 pictures")
    made = planned(evaluation=Evaluation(), training=training)

    kinds = [type(order) for order in orders(made, place)[-2:]]
    facts = requested(made, place).facts

    assert kinds == [Train, Evaluate]
    assert msgspec.json.decode(facts["recipe"], type=Recipe) == RECIPE
    assert (facts["until"], facts["train_first"]) == (90.0, 50)
    assert facts["cut_short"] == "the first 50 pictures"
    assert facts["optimizer"] == "adam"  # the recipe's, not that of timed steps


def test_a_training_that_was_cut_short_goes_on_from_its_last_checkpoint(place):
    for name in ("001", "002"):
        (place.parent / name / modes.CHECKPOINT).touch()

    made = planned(evaluation=Evaluation(), training=Training())
    (order,) = (one for one in orders(made, place) if isinstance(one, Train))

    assert order.earlier == str(place.parent / "002" / modes.CHECKPOINT)
    assert order.checkpoint == str(place / modes.CHECKPOINT)
    assert order.weights == str(place / modes.WEIGHTS)


def test_what_is_missing_here_is_said_in_words(place):
    made = planned("vgg16-cifar100@torch", evaluation=Evaluation())

    assert "assay data fetch cifar100" in requested(made, place).missing


def test_more_examples_than_there_are_is_refused_before_a_run_begins(tmp_path):
    with pytest.raises(UsageError, match="first 76 images of test were asked for"):
        modes.check(planned("alexnet@torch", evaluation=Evaluation(first=76)), tmp_path)


def test_damaged_data_is_left_to_the_worker(tmp_path, monkeypatch):
    shutil.copytree(SAMPLE, tmp_path / "data")
    (tmp_path / "data" / "mnist.npz").write_bytes(b"PK nothing")
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "data"))

    modes.check(planned(evaluation=Evaluation()), tmp_path)
