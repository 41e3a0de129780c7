"""Cases measured from Python: what is planned, what is kept, how it goes on."""

from __future__ import annotations

import subprocess
import sys

import pytest

import assay
from assay.commands.run import api
from assay.commands.task import api as task
from assay.core.errors import UsageError
from assay.measure.inputs import procedure
from assay.measure.plan import make_plan

QUICK = assay.Procedure(samples=3, steps_per_sample=1)


def test_a_resumed_run_measures_only_what_is_missing(home, endings, monkeypatch):
    from assay.measure import case as engine

    real = engine.measure_case

    def interrupt_second(case, procedure, place, progress, *more):
        if place.id.endswith("002"):
            progress = raise_interrupt
        return real(case, procedure, place, progress, *more)

    def raise_interrupt(*_):
        raise KeyboardInterrupt

    cases = [f"{endings}:fine:size={size}@python" for size in (10, 20, 30)]
    quick = assay.Procedure(budget=0.1)
    monkeypatch.setattr(engine, "measure_case", interrupt_second)
    with pytest.raises(KeyboardInterrupt):
        list(assay.run(*cases, procedure=quick))

    resumed = [result.case.params["size"] for result in assay.resume("last")]

    assert resumed == [20, 30]
    assert [r.result.status for r in assay.read_results()] == ["ok"] * 3
    assert list(assay.resume("last")) == []


def test_only_what_run_has_begun_can_be_resumed(home):
    result = task.run_task(task.task_from_command(["true"]))

    with pytest.raises(UsageError, match="was made by assay task") as caught:
        assay.resume(result.run)

    assert caught.value.hint == "Runs of assay task cannot be resumed: start it again."


def test_every_combination_is_measured_in_order(endings):
    found = api.run(
        f"{endings}:fine",
        backends=["python"],
        params={"size": [10, 20]},
        options={"threads": [1]},
        procedure=QUICK,
    )

    cases = [result.case for result in found]
    assert [(case.params["size"], case.options["threads"]) for case in cases] == [(10, 1), (20, 1)]


def test_a_result_has_the_label_and_the_tags_without_secrets(endings):
    (result,) = api.run(
        f"{endings}:fine@python",
        procedure=QUICK,
        label="nightly",
        tags={"gpu": "none", "token": "hunter2"},
    )

    assert result.label == "nightly"
    assert result.tags["gpu"] == "none"
    assert "hunter2" not in result.tags.values()


def test_whoever_watches_hears_of_each_phase(endings):
    heard = []

    list(api.run(f"{endings}:fine@python", procedure=QUICK, progress=heard.append))

    phases = list(dict.fromkeys(progress.phase for progress in heard))
    assert phases == ["open", "first", "warmup", "steady"]


@pytest.mark.parametrize(
    ("cases", "given", "complaint"),
    [
        ((), {}, "no case to measure"),
        (("mnist-mlpp",), {}, "no workload named 'mnist-mlpp'"),
        (("mnist-mlp",), {"backends": ["jaxx"]}, "no backend named 'jaxx'"),
        (("mnist-mlp@jax",), {"params": {"unit": [3]}}, "no parameter of mnist-mlp named 'unit'"),
        (("mnist-mlp@jax",), {"options": {"thread": [1]}}, "no option of jax named 'thread'"),
        (("mnist-mlp@jax",), {"first": 5}, "speed is measured on a batch"),
        ((), {"suite": "todays"}, "no suite named 'todays'"),
        (("mnist-mlp@jax",), {"budget": "soon"}, "'soon' is not a duration"),
        (("mnist-mlp@jax",), {"budget": -1}, "budget is -1"),
        (("mnist-mlp@jax",), {"target": "200%"}, "target is 2"),
        (("mnist-mlp@jax",), {"procedure": QUICK, "budget": "1s"}, "Both procedure and budget"),
        (("mnist-mlp",), {"backends": "jaxx"}, "no backend named 'jaxx'"),
        ((object(),), {}, "An object of the class object is no case"),
    ],
)
def test_a_mistake_is_raised_by_the_call_before_anything_is_kept(home, cases, given, complaint):
    with pytest.raises(UsageError, match=complaint):
        api.run(*cases, **given)

    assert not home.exists()


def test_a_suite_of_accuracies_is_evaluated_instead():
    planned = make_plan(suite="accuracy", backends=["torch"], first=30)

    assert planned.evaluation.first == 30
    assert len(planned.cases) == 10


def test_what_nobody_has_measured_cannot_be_resumed():
    with pytest.raises(UsageError, match="Nothing has been measured yet"):
        api.resume("last")


def test_one_backend_one_value_and_texts_are_taken_as_they_are(endings):
    planned = make_plan(
        f"{endings}:fine",
        backends="python",
        params={"size": 64},
        procedure=procedure(
            None, {"budget": "1s", "target": "5%", "timeout": "10m", "processes": 2}
        ),
    )

    assert [case.key for case in planned.cases] == [f"{endings}:fine:size=64@python"]
    assert planned.procedure == assay.Procedure(budget=1, target=0.05, timeout=600, processes=2)


SCRIPT = """
import assay

def add(size=10):
    return lambda: sum(range(size))

{guard}for result in assay.run(add, params={{"size": 20}}, samples=3, steps_per_sample=1):
    print(result.case.key, result.status, result.reason)
"""


@pytest.mark.parametrize(
    ("guard", "said"),
    [
        ('if __name__ == "__main__":\n  ', "own.py:add:size=20@python ok"),
        ("", 'own.py starts a run while a worker imports it; put that under: if __name__ == "__'),
    ],
)
def test_a_function_of_a_script_is_measured_from_the_script(tmp_path, guard, said):
    (tmp_path / "own.py").write_text(SCRIPT.format(guard=guard))

    done = subprocess.run([sys.executable, "own.py"], cwd=tmp_path, capture_output=True, text=True)

    assert said in done.stdout, done.stderr
    assert done.stdout.count("add:size=20") == 1


@pytest.mark.real("keras")
def test_a_model_is_refused_in_one_sentence(keras):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])

    with pytest.raises(UsageError, match="class Sequential is no case") as caught:
        api.run(model)
    assert "assay.case_from_object(model, example=" in caught.value.hint


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_a_workload_gets_a_number_that_is_not_finite(home, tmp_path, value):
    """Also when the run is resumed, from its plan; a text of that name stays a text."""
    file = tmp_path / "w.py"
    file.write_text(
        "def build(lr=0.1, name=''):\n"
        f"    assert isinstance(lr, float) and str(lr) == {value!r}, repr(lr)\n"
        f"    assert name in ('', {value!r}), repr(name)\n"
        "    return lambda: None\n"
    )
    cases = [f"{file}:build:lr={value}@python", f"{file}:build:lr={value},name={value}@python"]
    quick = assay.Procedure(budget=0.05)

    first, second = assay.run(*cases, procedure=quick)
    assay.remove([second.id])
    again = list(assay.resume("last"))

    assert [first.status, second.status, *(one.status for one in again)] == ["ok"] * 3
    assert [one.case for one in again] == [second.case]


def test_a_whole_number_cannot_be_nan(home, endings):
    with pytest.raises(UsageError, match="is 'nan', but has to be an integer"):
        list(assay.run(f"{endings}:fine:size=nan@python"))
