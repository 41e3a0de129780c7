"""Every store of results: what is appended is found again, by anyone, whatever else happens."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context

import msgspec
import pytest

from assay.core import codec
from assay.core.errors import UsageError
from assay.core.findings import Quantity, Summary
from assay.core.records import Query
from assay.core.registry import open_store
from assay.stores.sqlite import SqliteStore
from tests.stores.test_sqlite import SECOND, stored


@pytest.fixture(
    params=["sqlite", pytest.param("postgresql", marks=pytest.mark.real("postgresql", "psycopg"))]
)
def place(request, home):
    """Where an empty store is."""
    return str(home) if request.param == "sqlite" else request.getfixturevalue("database")


@pytest.fixture
def store(place):
    with closing(open_store(place)) as opened:
        yield opened


def append_some(place) -> list[str]:
    with closing(open_store(place)) as store:
        made = [one.id for _ in range(5) for one in stored(store)]
        for one in made:
            store.keep_summary(one, 1, Summary(quantities={"step_time": SECOND}))
        return made


def overwrite(store, result_id: str, data: bytes) -> None:
    """Damage a result, as a disk or a person may."""
    run, _, number = result_id.partition("/")
    store.keep_document(run, f"{number}/result.json", data)


def spoil_summary(store, result_id: str, data: bytes) -> None:
    if isinstance(store, SqliteStore):
        store._write("INSERT INTO summaries VALUES (?, 1, ?)", (result_id, data))
    else:
        row = (result_id, data)
        store._link.change(lambda c: c.execute("INSERT INTO summaries VALUES (%s, 1, %s)", row))


def test_what_is_appended_is_found_again(store):
    made = stored(store, 2)

    assert list(store.results(Query())) == made


@pytest.mark.parametrize(
    ("query", "count"),
    [
        (Query(workload="w"), 2),
        (Query(workload="other"), 0),
        (Query(backend="b", label="nightly"), 2),
        (Query(label="weekly"), 0),
        (Query(tags={"gpu": "H200"}), 2),
        (Query(tags={"gpu": "H100"}), 0),
        (Query(limit=1), 1),
        (Query(ids=("last/2",)), 1),
    ],
)
def test_queries_restrict(store, query, count):
    stored(store, 2, label="nightly", tags={"gpu": "H200"})

    assert len(list(store.results(query))) == count


def test_a_limit_keeps_the_newest(store):
    stored(store, 3)

    assert [one.id[-3:] for one in store.results(Query(limit=2))] == ["002", "003"]


def test_a_limit_may_be_larger_than_the_index_can_count(store):
    stored(store, 1)

    assert len(list(store.results(Query(limit=10**22)))) == 1


def test_a_corrupt_result_is_passed_over_and_said(store):
    first, second = stored(store, 2)
    overwrite(store, first.id, b'{"schema": 1, "kind"')

    assert list(store.results(Query())) == [second]
    assert "is not readable JSON" in store.problems[0]


def test_a_newer_result_is_left_as_it_is(store):
    (made,) = stored(store)
    newer = codec.encode(msgspec.to_builtins(made) | {"schema": 99, "surprise": 1})
    overwrite(store, made.id, newer)

    assert list(store.results(Query())) == []
    assert "schema 99, but this assay reads up to 1" in store.problems[0]
    assert store.document(made.run, "001/result.json") == newer


def test_several_processes_append_at_once(place):
    with ProcessPoolExecutor(8, mp_context=get_context("spawn")) as pool:
        appended = [one for part in pool.map(append_some, [place] * 8) for one in part]

    with closing(open_store(place)) as store:
        found = [one.id for one in store.results(Query())]
        (series,) = store.series(Query())
    assert len(appended) == len(found) == series.count == 40
    assert set(found) == set(appended)


def test_two_runs_of_the_command_share_a_store(place, endings):
    command = [sys.executable, "-c", "from assay.cli.main import main; main()", "run"]
    world = os.environ | {"ASSAY_STORE": place, "PYTHONPATH": os.getcwd()}
    both = [
        subprocess.Popen([*command, f"{endings}:fine@python", "--budget", "200ms"], env=world)
        for _ in range(2)
    ]

    assert [process.wait(60) for process in both] == [0, 0]
    with closing(open_store(place)) as store:
        assert store.count(Query(status="ok")) == 2


def test_ids_are_found_by_unique_beginning_ending_or_last(store):
    (made,) = stored(store)

    for text in (made.id, made.run, made.run[:16], made.run[-4:], "last", "last/1"):
        assert store.find(text) == [made.id]


def test_an_id_that_fits_two_runs_is_refused(store):
    stored(store)
    stored(store)

    with pytest.raises(UsageError, match="matches 2 runs"):
        store.find("20")


@pytest.mark.parametrize("text", ["nothing", "last/9", ""])
def test_an_unknown_id_is_refused(store, text):
    stored(store)

    with pytest.raises(UsageError, match="There is no"):
        store.find(text)


def test_a_result_under_another_id_than_its_folders_is_passed_over(store, place):
    first, second = stored(store, 2)
    forged = msgspec.structs.replace(second, id=first.id, label="forged")
    overwrite(store, second.id, codec.encode(forged))

    with closing(open_store(place)) as again:
        assert [one.id for one in again.results(Query())] == [first.id]
        assert "has the id" in again.problems[-1]


@pytest.mark.parametrize(
    "change",
    [
        {"procedure": {"budget": -1.0}},
        {"case": {"workload": "", "backend": "b"}},
        {"status": "wonderful"},
        {"samples": [{"metric": 1}]},
    ],
)
def test_one_bad_file_never_hides_the_rest(store, place, change):
    first, second = stored(store, 2)
    overwrite(store, second.id, codec.encode(msgspec.to_builtins(second) | change))

    with closing(open_store(place)) as again:
        assert [one.id for one in again.results(Query())] == [first.id]
        assert len(again.problems) == 1


def test_adopting_checks_before_it_copies(store, tmp_path):
    with pytest.raises(UsageError, match="is no run folder"):
        store.adopt(tmp_path)


def test_adopting_twice_changes_nothing(store, tmp_path):
    other = SqliteStore(tmp_path / "elsewhere")
    (made,) = stored(other)

    for _ in range(2):
        assert store.adopt(other.runs / made.run) == [made.id]

    assert list(store.results(Query())) == [made]


def test_summaries_of_another_analysis_are_not_used(store):
    (made,) = stored(store)
    store.keep_summary(made.id, 1, Summary())

    assert store.summary(made.id, 1) is not None
    assert store.summary(made.id, 2) is None


def test_a_summary_with_a_number_that_is_not_finite_comes_back(store):
    (made,) = stored(store)
    nan = Quantity(value=math.nan, low=-math.inf, high=1.0, unit="", estimator="median", n=1)
    store.keep_summary(made.id, 1, Summary(quantities={"loss": nan}))

    found = store.summary(made.id, 1).quantities["loss"]

    assert math.isnan(found.value) and found.low == -math.inf


def test_a_summary_that_cannot_be_read_is_as_none(store):
    (made,) = stored(store)
    spoil_summary(store, made.id, b'{"quantities": 5}')

    assert store.summary(made.id, 1) is None


def test_a_series_is_read_from_the_index_alone(store):
    made = stored(store, 3)
    for one in made:
        store.keep_summary(one.id, 1, Summary(quantities={"step_time": SECOND}))
    shutil.rmtree(store.runs)

    (series,) = store.series(Query(workload="w"))
    points = store.points(series.series.id, "step_time")

    assert (series.metric, series.unit, series.count) == ("step_time", "s", 3)
    assert [(point.id, point.value) for point in points] == [(one.id, 1.0) for one in made]
    assert math.isnan(points[0].low)
    assert [p.id for p in store.points(series.series.id, "step_time", 1)] == [made[2].id]


def test_only_results_that_ended_well_are_points(store):
    (made,) = stored(store, status="failed")
    store.keep_summary(made.id, 1, Summary(quantities={"step_time": SECOND}))

    assert store.series(Query()) == []


def test_results_without_a_summary_are_named(store):
    first, second = stored(store, 2)
    store.keep_summary(first.id, 1, Summary())

    assert store.unsummarized(Query(), 1) == [second.id]
    assert store.unsummarized(Query(workload="other"), 1) == []


def test_a_label_and_tags_given_later_are_found(store):
    (made,) = stored(store, tags={"gpu": "H100"})

    store.amend(made.id, "nightly", {"gpu": "H200"})

    (found,) = store.results(Query(label="nightly", tags={"gpu": "H200"}))
    assert msgspec.structs.replace(found, label="", tags={"gpu": "H100"}) == made
    assert store.count(Query(tags={"gpu": "H100"})) == 0


def test_what_is_deleted_is_gone(store):
    first, second = stored(store, 2)
    store.keep_summary(second.id, 1, Summary(quantities={"step_time": SECOND}))

    assert store.delete(f"{second.run}/2") == [second.id]
    assert list(store.results(Query())) == [first]
    assert store.series(Query()) == []
    assert store.delete("last") == [first.id]
    assert store.entries(Query()) == []
    with pytest.raises(UsageError, match="Nothing has been measured yet"):
        store.find_run("last")


def test_queries_by_time_and_machine(store):
    stored(store, 3)

    days = [
        [entry.id[-3:] for entry in store.entries(query)]
        for query in (Query(since="2026-01-02"), Query(until="2026-01-02"), Query(machine="x"))
    ]

    assert days == [["002", "003"], ["001", "002"], []]


def test_a_document_is_kept_and_written_over(store):
    run = stored(store)[0].run

    assert store.document(run, "race.json") is None
    for data in (b"{}", b"[1]"):
        store.keep_document(run, "race.json", data)
    assert store.document(run, "race.json") == b"[1]"


def test_text_of_any_kind_is_kept(store):
    (made,) = stored(store, label="a\0b 日本", tags={"quote": "'; DROP TABLE results; --"})

    assert list(store.results(Query(tags={"quote": "'; DROP TABLE results; --"}))) == [made]
