"""assay run as it is typed: what is measured, what is said of it, what is refused."""

from __future__ import annotations

import json

import pytest

from assay import read_results
from assay.core.records import Procedure
from tests.datasets.making import SAMPLE

QUICK = ("--samples", "3", "--steps-per-sample", "1")


def test_values_with_commas_make_a_sweep(assay, endings):
    words = ("--set", "size=10,20", *QUICK, "--format", "json")
    _, out, _ = assay("run", f"{endings}:fine@python", *words)

    keys = [result["case"]["key"] for result in json.loads(out)["results"]]
    assert keys == [f"{endings}:fine:size={size}@python" for size in (10, 20)]


def test_the_flags_of_the_procedure_are_kept_with_the_result(assay, endings):
    flags = ("--budget", "200ms", "--target", "5%", "--timeout", "1m", "--processes", "2")
    assay("run", f"{endings}:fine@python", *flags, *QUICK)

    assert read_results()[0].result.procedure == Procedure(
        budget=0.2, target=0.05, timeout=60.0, processes=2, samples=3, steps_per_sample=1
    )


def test_a_run_that_is_complete_says_so(assay, kept):
    status, out, error = assay("run", "--resume", kept)

    assert (status, out) == (0, "")
    assert "Nothing was left to measure" in error


def test_latency_shows_its_tails(assay, endings):
    words = ("run", f"{endings}:fine@python", "--latency", "--samples", "700")
    _, out, _ = assay(*words)

    assert "p90" in out
    assert "p99" in out


def test_a_secret_is_never_kept(assay, endings, home, monkeypatch):
    monkeypatch.setenv("XLA_API_KEY", "hunter2")
    monkeypatch.setenv("TF_PASSWORD", "hunter2")

    assay("run", f"{endings}:fine@python", *QUICK, "--tag", "token=hunter2")

    kept = [file for file in home.rglob("*") if file.is_file()]
    assert kept
    assert not any(b"hunter2" in file.read_bytes() for file in kept)


def test_first_is_for_accuracies(assay):
    status, _, err = assay("run", "mnist-mlp@torch", "--first", "5")

    assert status == 2
    assert "speed is measured on a batch" in err


@pytest.mark.real("torch")
def test_the_suite_evaluates_what_is_here_and_says_what_the_others_need(assay, home, monkeypatch):
    monkeypatch.setenv("ASSAY_DATA", str(SAMPLE))
    status, out, _ = assay("run", "--suite", "accuracy", "-b", "torch", "--first", "30")

    rows = {line.split()[0]: line for line in out.splitlines() if " torch " in line}
    assert status == 0
    assert len(rows) == 10
    assert rows.pop("resnet18-cifar10").split()[-1] == "pass"
    assert {line.split()[-1] for line in rows.values()} == {"skipped"}
    assert "lenet has no trained weights here" in out

    (run,) = (path.name for path in (home / "runs").iterdir())
    _, again, _ = assay("show", run)
    assert again.split("\n")[1:] == out.split("\n")  # below what it found


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "No case was given"),
        (("mnist-mlpp",), "no workload named"),
        (("--suite", "todays"), "no suite named 'todays'"),
        (("mnist-mlp", "-b", "keras-jaxx"), "no backend named"),
        (("mnist-mlp", "-b", "theano"), "any more"),
        (("mnist-mlp", "--set", "units"), "--set got 'units'"),
        pytest.param(
            ("mnist-mlp", "--set", "unit=3"),
            "no parameter of mnist-mlp named 'unit'",
            marks=pytest.mark.real("jax"),
        ),
        (("mnist-mlp", "--set", "units=3,hidden=2"), "takes one NAME at a time"),
        (("mnist-mlp", "--budget", "soon"), "'soon' is not a duration"),
        (("mnist-mlp", "--budget", "0s"), "budget is 0"),
        (("mnist-mlp", "--target", "x"), "'x' is not a share"),
        (("mnist-mlp", "--target", "200%"), "between 0 and 1"),
        (("mnist-mlp", "--samples", "-3"), "samples is -3"),
        (("mnist-mlp", "--tag", "x"), "--tag got 'x'"),
        (("--resume", "nothing"), "Nothing has been measured yet"),
        (("mnist-mlp", "--resume", "last"), "--resume was given with mnist-mlp"),
        (("--suite", "today", "--resume", "last"), "--resume was given with"),
    ],
)
def test_misuse_is_one_sentence_and_nothing_is_measured(assay, home, words, complaint):
    status, out, error = assay("run", *words)

    assert (status, out) == (2, "")
    assert complaint in error
    assert not list(home.glob("runs/*"))


@pytest.fixture
def plan_file(tmp_path, endings):
    path = tmp_path / "nightly.toml"
    path.write_text(f'[run]\ncases = ["{endings}:fine@python"]\n[procedure]\nsamples = 3\n')
    return str(path)


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        (("--budget", "10s"), "--budget"),
        (("--processes", "1", "-b", "python"), "--backend --processes"),
        (("--set", "size=10", "--latency"), "--latency --set"),
        (("mnist-mlp", "--label", "x"), "--label mnist-mlp"),
        (("--resume", "last"), "last"),
    ],
)
def test_what_was_typed_beside_a_plan_is_refused_also_if_it_is_a_default(
    assay, home, plan_file, words, flags
):
    status, _, error = assay("run", "--plan", plan_file, *words)

    first, hint = error.splitlines()
    assert status == 2
    assert sorted(first.removeprefix("error: --plan was given with ")[:-1].split()) == flags.split()
    assert hint == "hint:  What is measured, and how, is in the plan file."
    assert not list(home.glob("runs/*"))


@pytest.mark.parametrize("place", ["before", "--home", "--store"])
def test_a_plan_is_run_into_the_store_that_is_named(assay, home, plan_file, tmp_path, place):
    store = str(tmp_path / "other")
    words = ("run", "--plan", plan_file, "--every", "night")

    if place == "before":
        status, _, error = assay("--store", store, *words)
    else:
        status, _, error = assay(*words, place, store)

    (result,) = (tmp_path / "other").glob("runs/*/001/result.json")
    assert status == 0, error
    assert json.loads(result.read_bytes())["procedure"]["samples"] == 3
    assert not list(home.glob("runs/*"))


def test_a_quick_run_is_rough_and_names_no_winner(assay, endings):
    words = ("--set", "size=10,20000", "--quick")
    status, out, _ = assay("run", f"{endings}:fine@python", *words)

    shown = read_results()
    assert status == 0
    assert "the interval is rough" in out
    assert "fastest" not in out
    assert all(result.result.tags["quick"] for result in shown)
    assert ("no winner is named from a quick run" in out) == (len(shown) > 1)


def test_a_quick_run_says_which_cases_did_not_fit(assay, endings, monkeypatch):
    monkeypatch.setattr("assay.measure.quick.QUICK_SECONDS", 0.0)
    _, _, error = assay("run", f"{endings}:fine@python", "--set", "size=10,20", "--quick")

    assert len(read_results()) == 1
    assert "1 of 2 cases did not fit into 10 s" in error


def test_a_quick_run_has_its_own_budget(assay, endings):
    status, _, error = assay("run", f"{endings}:fine@python", "--quick", "--budget", "5s")

    assert status == 2
    assert "quick was given with budget" in error
