"""assay race: what it prints and how it leaves."""

import json

import pytest

from assay.commands.race import api, state
from assay.core.errors import UsageError
from assay.core.records import Result
from assay.measure.heat import Heat


@pytest.fixture
def nap(tmp_path):
    file = tmp_path / "naps.py"
    file.write_text("import time\ndef nap(ms=5):\n    return lambda: time.sleep(ms / 1000)\n")
    return f"{file}:nap"


def test_a_race_shows_who_is_in_and_the_ranking(assay, nap):
    status, out, err = assay("race", nap, "--over", "ms=5,20,40", "--budget", "20s")

    assert status == 0
    assert out.startswith("fastest: ")
    assert "What each option gains" in out
    assert "to run it: assay run '" in out
    assert "to see it again: assay show" in err
    assert assay("show", "last")[:2] == (0, out)


def test_the_budget_may_end_first(assay, nap, home, tmp_path):
    home.mkdir(exist_ok=True)
    (home / "sinks.toml").write_text(f'metrics = "{tmp_path}/m.jsonl"\n')
    over = ",".join(str(10 * n) for n in range(1, 7))
    status, out, err = assay(
        "race", nap, "--over", f"ms={over}", "--budget", "1ms", "--format", "json"
    )
    found = json.loads(out)

    assert status == 6
    assert "rows sent" in err and len((tmp_path / "m.jsonl").read_text().splitlines()) >= 2
    assert (found["schema"], found["kind"], found["heats"]) == (1, "race", 1)
    assert [place["state"] for place in found["places"]].count("untried") == 4


def test_a_budget_of_nothing_is_refused_with_the_default_of_a_race(assay, nap):
    status, _, err = assay("race", nap, "--over", "ms=5,20", "--budget", "0")

    assert status == 2
    assert "5m is the default" in err


def test_a_race_without_a_heat_is_one_sentence(assay, nap, monkeypatch):
    def interrupted(entries, procedure, *_, **more):
        results = {
            one.name: Result(
                id=one.case_dir.id, case=one.case, procedure=procedure, status="interrupted"
            )
            for one in entries
        }
        return Heat(results, {}, 1.0, {})

    monkeypatch.setattr(state, "run_heat", interrupted)
    _, out, err = assay("race", nap, "--over", "ms=5,20")

    assert out == ""
    assert "No heat finished; nothing is known about 2 contenders." in err


@pytest.mark.parametrize("words", [(), ("mnist-mlp", "--resume", "last")])
def test_a_workload_or_a_race_to_resume_but_not_both(assay, words):
    status, _, err = assay("race", *words)

    assert status == 2
    assert "A race needs a workload, or --resume" in err


def test_only_precisions_that_are_allowed_run(assay, monkeypatch):
    seen = []

    def race(*_, over, **__):
        seen.append(over)
        raise UsageError("enough")

    monkeypatch.setattr(api, "race", race)
    assay("race", "w", "--precision", "float32")

    assert seen == [{"precision": ["float32"]}]
