"""Suspects measured again, in real processes."""

from __future__ import annotations

import subprocess
from contextlib import closing

import msgspec
import pytest

import assay
from assay.commands.ab import api
from assay.commands.check import api as check
from assay.core.registry import open_store
from tests.commands.history.test_history import keep_series


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A repository with a workload that sleeps; its commits, the second twice as slow."""
    monkeypatch.chdir(tmp_path)
    commits = []
    git("init", "-q")
    for milliseconds in (2, 4):
        (tmp_path / "work.py").write_text(
            f"import time\ndef work():\n    return lambda: time.sleep({milliseconds} / 1000)\n"
        )
        git("add", "work.py")
        git("commit", "-qm", f"{milliseconds} ms")
        commits.append(git("rev-parse", "HEAD"))
    return commits


def git(*words: str) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    done = subprocess.run(["git", *name, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def kept(home, values, commits) -> None:
    """Results of the workload as assay keeps them, with these values and commits."""
    (made,) = assay.run("work.py:work@python", samples=3, steps_per_sample=1)
    assay.remove([made.run])
    with closing(open_store(home)) as store:
        keep_series(
            store,
            values,
            made.case,
            environment=lambda n: msgspec.structs.replace(
                made.environment, git={"commit": commits[n]}
            ),
        )


def test_a_real_slow_down_between_two_commits_is_confirmed(home, work):
    kept(home, [0.002, 0.004], work)

    found = assay.check(work[0], ["step_time:20%"], confirm=True, budget="8s")

    (one,) = found.found
    assert (one.judgement, one.outcome) == ("suspect", "confirmed")
    assert "slower" in one.confirmation and one.run
    assert check.status(found) == 5


def test_the_fastest_step_is_confirmed_by_the_fastest_step(home, work):
    kept(home, [0.002, 0.004], work)

    found = assay.check(work[0], ["min:20%"], confirm=True, budget="8s")

    (one,) = found.found
    assert one.outcome == "confirmed"
    assert api.load_comparison(one.run).metric == "min"


def test_a_bad_moment_is_refuted(home, work):
    kept(home, [0.004, 0.008], [work[1], work[1]])
    assay.relabel([assay.read_results()[0].result.id], "base")

    found = assay.check("label:base", ["step_time:30%"], confirm=True)

    (one,) = found.found
    assert (one.judgement, one.outcome) == ("suspect", "refuted")
    assert one.confirmation.startswith("measured again")
    assert check.status(found) == 0


def test_what_cannot_be_measured_again_is_undecided(home, work):
    kept(home, [0.002, 0.004], work)
    (reading, _) = assay.read_results()
    (home / "runs" / reading.result.id / "result.json").unlink()

    found = assay.check(work[0], ["step_time:20%"], confirm=True)

    assert found.found[0].outcome == "undecided"
    assert check.status(found) == 6
