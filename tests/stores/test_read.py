"""Kept results again: which of them, in which order, and what is said of those that are lost."""

from __future__ import annotations

from contextlib import closing

import pytest

from assay.core.errors import UsageError
from assay.core.records import Case, Plan, Procedure, Query, Result
from assay.core.registry import open_store
from assay.stats.fairness.checks import fairness
from assay.stats.summary import summarize
from assay.stores import folders, read
from tests.stores.test_sqlite import CASE, stored


@pytest.fixture
def store(home):
    with closing(open_store(home)) as opened:
        yield opened


def statuses(*ids: str) -> list[str]:
    return [reading.result.status for reading in read.read_results(Query(ids=ids))]


def append(store, run, status: str, case: Case = CASE) -> None:
    place = folders.new_case(run)
    store.append(Result(id=place.id, case=case, procedure=Procedure(), status=status))


def test_results_come_with_their_summaries_oldest_first(store):
    made = stored(store, 3)

    found = read.read_results()

    assert [reading.result for reading in found] == made
    assert found[0].summary == summarize(made[0])


def test_an_interrupted_result_is_shown_until_its_case_was_measured(store):
    run = store.new_run(Plan(cases=(CASE,)))
    append(store, run, "interrupted")
    before = statuses()
    append(store, run, "ok")

    assert (before, statuses()) == (["interrupted"], ["ok"])


def test_an_interrupted_result_of_another_case_or_run_is_shown(store):
    first, second = (store.new_run(Plan(cases=(CASE,))) for _ in range(2))
    append(store, first, "interrupted")
    append(store, second, "interrupted", Case(workload="w", backend="c", key="w@c"))
    append(store, second, "ok")

    assert sorted(statuses()) == ["interrupted", "interrupted", "ok"]


def test_a_result_that_cannot_be_read_is_said_once_and_the_others_are_shown(store, home):
    lost, found = stored(store, 2)
    (home / "runs" / lost.id / "result.json").write_text("{")
    said = []

    shown = read.read_results(say=said.append)

    assert [reading.result for reading in shown] == [found]
    assert len(said) == 1
    assert f"{lost.id}/result.json is not readable JSON" in said[0]


@pytest.mark.parametrize("verb", ["run", "task", "race"])
def test_a_run_knows_the_verb_that_made_it(store, verb):
    run = store.new_run(Plan(cases=(CASE,), verb=verb))

    assert read.verb_of_run(run.name) == verb


def test_the_last_run_is_the_one_that_was_made_last_also_within_a_second(store, monkeypatch):
    falling = iter(("zzzz", "yyyy", "aaaa"))
    stamp = folders._new_id().rpartition("-")[0]
    monkeypatch.setattr(folders, "_new_id", lambda: f"{stamp}-{next(falling)}")
    for verb in ("run", "train", "race"):
        store.new_run(Plan(cases=(CASE,), verb=verb))

    assert read.verb_of_run("last") == "race"


def test_a_run_that_is_not_there_is_refused(store):
    stored(store)

    with pytest.raises(UsageError, match="no run named 'nothing'"):
        read.verb_of_run("nothing")


def test_contenders_that_do_other_work_are_unfair():
    results = [
        Result(
            id=f"r/{backend}",
            case=Case(workload="net", backend=backend, key=f"net@{backend}"),
            procedure=Procedure(),
            status="ok",
            facts={"parameters": count},
        )
        for backend, count in (("jax", 293), ("torch", 311))
    ]

    (found,) = fairness(results)

    assert (found.what, found.unfair) == ("parameters", True)
