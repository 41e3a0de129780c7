"""The series of a case: which results belong to it, its shifts, and what changed there."""

from __future__ import annotations

import shutil
import subprocess
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import assay
from assay.commands.history.api import read, summarize_all
from assay.core.errors import UsageError
from assay.core.records import Case, Environment, Plan, Procedure, Query, Result, Samples
from assay.core.registry import open_store
from assay.stats import stored_summary
from assay.stores import folders

CASE = Case(workload="w", backend="b", key="w@b")
HERE = {"cpu": "EPYC", "cpus": 2}


def keep_series(store, values, case: Case = CASE, **fields) -> list[Result]:
    """A result a night, one run each; `fields` may be functions of the night."""
    made = []
    for night, value in enumerate(values):
        run = store.new_run(Plan(cases=(case,)))
        place = folders.new_case(run)
        started = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=night)
        steps = tuple(float(value) * (1 + 0.001 * n) for n in (-2, -1, 0, 1, 2))
        own = {name: f(night) if callable(f) else f for name, f in fields.items()}
        result = Result(
            id=place.id,
            case=case,
            procedure=Procedure(),
            status="ok",
            started=started.isoformat(),
            samples=(Samples(metric="step_time", unit="s", phase="steady", values=steps),),
            **{"environment": Environment(machine=HERE)} | own,
        )
        store.append(result)
        stored_summary.read(store, result)
        made.append(result)
    return made


def nights(count: int, slower_from: int = 10**9, by: float = 1.1, seed: int = 1) -> list[float]:
    noise = np.random.default_rng(seed).normal(0, 0.01, count)
    factor = np.where(np.arange(count) >= slower_from, by, 1.0)
    return (0.02 * np.exp(noise) * factor).tolist()


@pytest.fixture
def store(home):
    with closing(open_store(home)) as opened:
        yield opened


def test_a_shift_comes_with_what_changed_there(store):
    def environment(night: int) -> Environment:
        jax = "0.9.0" if night < 25 else "0.10.2"
        return Environment(machine=HERE, packages={"jax": jax, "click": "8"})

    keep_series(store, nights(40, 25), environment=environment)

    (found,) = assay.history("w@b")

    (explained,) = found.shifts
    assert abs(explained.shift.place - 25) <= 1
    assert [(c.what, c.before, c.after) for c in explained.changed] == [("jax", "0.9.0", "0.10.2")]
    assert (found.metric, found.unit, len(found.points)) == ("step_time", "s", 40)
    assert found.stable_from == explained.shift.place


def test_machines_are_series_of_their_own(store):
    keep_series(store, nights(3))
    keep_series(store, nights(2), environment=Environment(machine={"cpu": "Xeon"}))

    assert sorted(len(one.points) for one in assay.history("w")) == [2, 3]
    assert [len(one.points) for one in assay.history("w", machine="xeon")] == [2]


def test_too_few_points_say_how_many_are_needed(store):
    keep_series(store, nights(4))

    (found,) = assay.history("w@b")

    assert found.notes == ("4 points are too few to tell shifts from noise: 9 are needed",)


def test_results_without_a_summary_become_points(store, home):
    keep_series(store, nights(3))
    store.close()
    for file in home.glob("index.sqlite*"):
        file.unlink()

    assert len(assay.history("w@b")[0].points) == 3


def test_a_result_that_is_gone_is_named_and_the_rest_is_shown(store):
    made = keep_series(store, nights(40, 25))
    series = next(one for one in store.series(Query()) if one.metric == "step_time")
    shift = made[25]
    store._database.execute("DELETE FROM summaries WHERE id = ?", (made[3].id,))
    for gone in (made[3], shift):
        shutil.rmtree(store.folder(gone.run))

    summarize_all(store, Query())
    found = read(store, series)

    assert len(found.points) == 40
    assert [one.changed for one in found.shifts] == [()]
    assert any(made[3].id in problem for problem in store.problems)
    assert any(shift.id in problem for problem in store.problems)


def test_points_can_be_in_the_order_of_commits(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commits = repository(tmp_path, 3)
    order = [commits[2], commits[0], commits[1], "f" * 40]  # as they were measured

    def environment(night: int) -> Environment:
        return Environment(machine=HERE, git={"commit": order[night]})

    made = keep_series(store, nights(4), environment=environment)

    (found,) = assay.history("w@b", order="commit")

    assert [point.id for point in found.points] == [made[1].id, made[2].id, made[0].id]
    assert "1 of 4 are of no commit of this repository" in found.notes[0]


def test_an_order_by_commit_needs_a_repository(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keep_series(store, nights(2))

    with pytest.raises(UsageError, match="this is none"):
        assay.history("w@b", order="commit")


@pytest.mark.parametrize(
    ("case", "metric", "text"),
    [("other@b", "", "No result of 'other@b'"), ("w@b", "step_tim", "no metric named 'step_tim'")],
)
def test_what_is_not_there_is_one_sentence(store, case, metric, text):
    keep_series(store, nights(2))

    with pytest.raises(UsageError, match=text):
        assay.history(case, metric)


def test_an_unknown_backend_of_a_known_workload_names_the_nearest(store):
    keep_series(store, nights(2))

    with pytest.raises(UsageError, match="no series named 'w@c'") as caught:
        assay.history("w@c")
    assert caught.value.hint == "Did you mean 'w@b'?"


def test_a_query_chooses_series(store):
    keep_series(store, nights(2), label="nightly")

    assert len(assay.history("w", query=Query(label="nightly"))) == 1


def repository(folder, count: int) -> list[str]:
    """A git repository with so many commits; their hashes, oldest first."""

    def git(*words: str) -> str:
        name = ("-c", "user.name=a", "-c", "user.email=a@b")
        done = subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)
        return done.stdout.decode().strip()

    git("init", "-q")
    made = []
    for number in range(count):
        git("commit", "-q", "--allow-empty", "-m", f"commit {number}")
        made.append(git("rev-parse", "HEAD"))
    return made


def test_a_history_prints_as_its_table_and_names_the_best_series(store):
    keep_series(store, nights(12))
    fast = [0.5 * value for value in nights(12)]
    keep_series(store, fast, Case(workload="w", backend="c", key="w@c"))

    histories = assay.history("w")

    assert str(histories).startswith("case") and "w@c" in str(histories)
    assert histories._repr_html_().count("<tr>") == 3
    assert histories.best.key == "w@c"
    assert [row["points"] for row in histories.to_pandas().to_dict("records")] == [12, 12]
    assert isinstance(histories, list) and len(histories) == 2
