"""assay study as it is typed: a slice of a real one, what is shown of it, and how it goes on."""

from __future__ import annotations

import json

import pytest

from assay.commands.study import api
from assay.core.records import Result, Samples


@pytest.mark.real("jax")
@pytest.mark.timeout(900)
def test_a_slice_of_a_study_runs_to_its_end_and_can_be_shown_again(assay, monkeypatch):
    monkeypatch.setattr(api, "MIN_SECONDS", 0.02)
    words = ("study", "vgg16", "--format", "json")

    status, out, err = assay(
        *(*words, "--size", "small", "--strict", "-b", "jax", "--rounds", "1", "--budget", "0.1")
    )
    again, shown, _ = assay(*words, "--resume", "last")
    _, once_more, _ = assay("show", "last", "--format", "json")

    found = json.loads(out)
    assert (status, again) == (0, 0), err
    assert "4 cases, at most 4 processes" in err and "4 of at most 4" in err
    assert [one["status"] for one in found["results"]] == ["ok"] * 4
    assert {row["option"] for row in found["bought"]} == {"compiler", "data_format"}
    assert found["floor"]["flops"] == 2 * 3 * 4 * found["floor"]["multiply_adds"]
    assert [one["what"] for one in found["fairness"]] == ["options"]
    assert json.loads(shown)["results"] == found["results"]
    assert once_more == shown


def test_a_study_that_is_cut_short_shows_what_there_is_and_how_to_go_on(assay, monkeypatch):
    def cut_short(group, rounds, run, progress):
        times = (0.1, 0.1, 0.1)
        for case, status in zip(group, ("ok", "interrupted"), strict=False):
            yield Result(
                id=run.new_case().id,
                case=case,
                procedure=run.plan.procedure,
                status=status,
                samples=(Samples(metric="step_time", unit="s", phase="steady", values=times),),
            )

    monkeypatch.setattr(api.registry.backend("jax").__class__, "missing", lambda _: "")
    monkeypatch.setattr(api, "_visited_cases", cut_short)

    status, out, err = assay("study", "vgg16", "--size", "small", "-b", "jax", "--budget", "2m")

    assert status == 130
    assert "at most 12 processes and 2.00 min of sampling" in err
    assert "100 ms" in out
    assert "to go on: assay study vgg16 --resume" in err


def test_a_run_that_is_no_study_cannot_be_gone_on_with_as_one(assay, endings):
    assay("run", f"{endings}:fine@python", "--samples", "1", "--budget", "0.1")

    status, _, err = assay("study", "vgg16", "--resume", "last")

    assert status == 2
    assert "was made by assay run" in err and "assay run --resume" in err


def test_a_study_goes_on_under_its_own_name(assay, begun):
    run = begun("study")

    status, out, error = assay("study", "vgg19", "--resume", run)

    assert (status, out) == (2, "")
    assert f"Run {run} is a study of vgg16, not of vgg19." in error
    assert f"assay study vgg16 --resume {run}" in error


def test_a_study_of_which_nothing_is_kept_yet_is_not_shown_in_silence(assay, begun):
    run = begun("study")

    _, out, error = assay("show", run)

    assert out + error


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "Missing argument"),
        (("vgg17",), "no study named 'vgg17'"),
        (("vgg16", "--size", "huge"), "no size 'huge'"),
        (("vgg16", "--option", "precision"), "--option got 'precision'"),
        (("vgg16", "--rounds", "0"), "rounds is 0, but has to be 1 or more"),
        (("vgg16", "--budget", "soon"), "'soon' is not a duration"),
        (("vgg16", "--budget", "-1"), "budget is -1"),
        (("vgg16", "--timeout", "0"), "timeout is 0"),
    ],
)
def test_misuse_is_one_sentence_and_nothing_is_measured(assay, home, words, complaint):
    status, out, error = assay("study", *words)

    assert (status, out) == (2, "")
    assert complaint in error
    assert not list(home.glob("runs/*"))
