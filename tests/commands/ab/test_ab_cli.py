"""assay ab: what it prints and how it leaves."""

import json

import pytest

from assay.commands.ab import cli


@pytest.fixture
def work(tmp_path):
    file = tmp_path / "work.py"
    file.write_text("import time\ndef work(ms=10):\n    return lambda: time.sleep(ms / 1000)\n")
    return f"{file}:work"


QUICK = ("--pairs", "1", "--budget", "3s")


def test_a_decision_leaves_with_0_and_a_document(assay, work):
    status, out, err = assay(
        "ab", f"{work}@python", f"{work}:ms=1@python", *QUICK, "--format", "json"
    )
    found = json.loads(out)

    assert status == 0
    assert (found["schema"], found["kind"], found["verdict"]) == (1, "comparison", "faster")
    assert set(found["ratio"]) == {"value", "low", "high", "unit", "estimator", "n"}
    assert found["metric"] == "step_time"
    assert len(found["pairs"]) == 1
    [line] = [each for each in err.splitlines() if "pair 1: " in each]
    assert line.endswith("), faster")


@pytest.mark.parametrize("form", ["text", "json"])
def test_show_tells_the_verdict_again_and_the_results_when_asked(assay, work, form):
    told = ("--format", form)
    _, printed, _ = assay("ab", f"{work}@python", f"{work}:ms=1@python", *QUICK, *told)

    status, again, _ = assay("show", "last", *told)
    _, results, _ = assay("show", "last", "--results", "--format", "json")

    assert (status, again) == (0, printed)
    assert len(json.loads(results)["results"]) == 2


def test_what_cannot_be_told_leaves_with_6(assay, work):
    status, out, _ = assay("ab", f"{work}@python", f"{work}@python", "--aa", *QUICK)

    assert status == 6
    assert out.startswith("cannot-tell")


def test_a_contender_that_fails_leaves_with_1(assay, endings):
    status, out, _ = assay("ab", f"{endings}:fine@python", f"{endings}:exits@python", *QUICK)

    assert status == 1
    assert out.startswith("cannot-tell: there is nothing to compare")
    assert "the candidate ended as crashed" in out


def test_one_case_alone_is_a_mistake(assay, work):
    status, _, err = assay("ab", f"{work}@python")

    assert status == 2
    assert "Two cases are compared, but 1 given" in err


def test_a_pattern_for_cases_is_refused_and_nothing_is_measured(assay, work, home):
    cases = (f"{work}@python", f"{work}:ms=1@python")

    status, out, err = assay("ab", *cases, *QUICK, "--metric", "step_time=(")

    assert (status, out) == (2, "")
    assert "--metric step_time=… is read from the output of a command" in err
    assert not list(home.glob("runs/*"))


@pytest.mark.parametrize(
    ("verdict", "gate", "status"),
    [
        ("slower", False, 0),
        ("slower", True, 5),
        ("faster", True, 0),
        ("same", True, 0),
        ("cannot-tell", True, 6),
    ],
)
def test_a_gate_leaves_with_5_where_the_candidate_is_slower(verdict, gate, status):
    assert cli._status(verdict, gate) == status


def test_a_gate_holds_up_what_is_slower(assay, work):
    status, out, _ = assay("ab", f"{work}:ms=1@python", f"{work}@python", *QUICK, "--gate")

    assert status == 5
    assert "slower" in out
