"""The store: what is appended is found again, by anyone, whatever becomes of the index."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import msgspec
import pytest

from assay.core import codec
from assay.core.errors import StoreError, UsageError
from assay.core.findings import Quantity, Summary
from assay.core.records import Case, Plan, Procedure, Query, Result, Samples
from assay.stores.sql import SqlStore

CASE = Case(workload="w", backend="b", key="w@b")
SECOND = Quantity(value=1.0, low=math.nan, high=math.nan, unit="s", estimator="median", n=1)


def result(run: str, number: int = 1, **fields: object) -> Result:
    values = {
        "id": f"{run}/{number:03d}",
        "case": CASE,
        "procedure": Procedure(),
        "status": "ok",
        "started": f"2026-01-0{number}T00:00:00+00:00",
        "samples": (Samples(metric="step_time", unit="s", phase="steady", values=(1.0, 2.0)),),
    }
    return Result(**(values | fields))


def stored(store: SqlStore, cases: int = 1, **fields: object) -> list[Result]:
    """A run with so many results, appended."""
    run = store.new_run(Plan(cases=(CASE,) * cases))
    made = [result(run.name, number, **fields) for number in range(1, cases + 1)]
    for one in made:
        (run / one.id.partition("/")[2]).mkdir()
        store.append(one)
    return made


def append_some(home) -> list[str]:
    store = SqlStore(home)
    return [one.id for _ in range(5) for one in stored(store)]


@pytest.fixture
def store(home):
    opened = SqlStore(home)
    yield opened
    opened.close()


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


def test_an_index_that_is_lost_is_made_anew(store, home):
    made = stored(store, 2)
    store.close()
    for file in home.glob("index.sqlite*"):
        file.unlink()

    assert list(SqlStore(home).results(Query())) == made


def test_a_damaged_index_is_put_aside_and_made_anew(store, home):
    made = stored(store)
    store.close()
    for file in home.glob("index.sqlite-*"):
        file.unlink()
    (home / "index.sqlite").write_bytes(b"no database at all" * 1000)

    assert list(SqlStore(home).results(Query())) == made
    assert (home / "damaged-index.sqlite").exists()


def test_a_run_folder_the_index_has_not_seen_is_picked_up(store, home, tmp_path):
    other = SqlStore(tmp_path / "elsewhere")
    made = stored(other)
    shutil.copytree(other.runs / made[0].run, home / "runs" / made[0].run)

    assert list(SqlStore(home).results(Query())) == made


def test_a_corrupt_result_is_passed_over_and_said(store, home):
    first, second = stored(store, 2)
    (home / "runs" / first.id / "result.json").write_bytes(b'{"schema": 1, "kind"')

    assert list(store.results(Query())) == [second]
    assert "is not readable JSON" in store.problems[0]


def test_a_newer_result_is_left_as_it_is(store, home):
    (made,) = stored(store)
    file = home / "runs" / made.id / "result.json"
    newer = codec.encode(msgspec.to_builtins(made) | {"schema": 99, "surprise": 1})
    file.write_bytes(newer)

    assert list(store.results(Query())) == []
    assert "schema 99, but this assay reads up to 1" in store.problems[0]
    assert file.read_bytes() == newer


def test_several_processes_append_at_once(home):
    with ProcessPoolExecutor(4) as pool:
        appended = [one for part in pool.map(append_some, [home] * 4) for one in part]

    found = {one.id for one in SqlStore(home).results(Query())}
    assert len(appended) == 20
    assert found == set(appended)


def test_two_runs_of_the_command_share_a_store(home, endings):
    command = [sys.executable, "-c", "from assay.cli import main; main()", "run"]
    world = os.environ | {"ASSAY_HOME": str(home), "PYTHONPATH": os.getcwd()}
    both = [
        subprocess.Popen([*command, f"{endings}:fine@python", "--budget", "200ms"], env=world)
        for _ in range(2)
    ]

    assert [process.wait(60) for process in both] == [0, 0]
    assert len(list(SqlStore(home).results(Query()))) == 2


def test_ids_are_found_by_unique_beginning_ending_or_last(store):
    (made,) = stored(store)

    for text in (made.id, made.run, made.run[:16], made.run[-4:], "last", "last/1"):
        assert store.find(text) == [made.id]


def test_an_id_that_fits_two_runs_is_refused(store):
    stored(store)
    stored(store)

    with pytest.raises(UsageError, match="fits 2 runs"):
        store.find("20")


@pytest.mark.parametrize("text", ["nothing", "last/9", ""])
def test_an_unknown_id_is_refused(store, text):
    stored(store)

    with pytest.raises(UsageError, match="There is no"):
        store.find(text)


@pytest.mark.parametrize("name", ["20991231-235959-zzzz", "99999999-999999-aaaa", "zzz", "a b"])
def test_a_stray_folder_is_not_the_last_run(store, name):
    (made,) = stored(store)
    (store.runs / name).mkdir()
    (store.runs / "a-file").touch()

    assert store.find("last") == [made.id]


def test_a_result_under_another_id_than_its_folders_is_passed_over(store, home):
    first, second = stored(store, 2)
    file = store.runs / second.id / "result.json"
    file.write_bytes(codec.encode(msgspec.structs.replace(second, id=first.id, label="forged")))

    again = SqlStore(home)

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
def test_one_bad_file_never_hides_the_rest(store, home, change):
    first, second = stored(store, 2)
    file = store.runs / second.id / "result.json"
    file.write_bytes(codec.encode(msgspec.json.decode(file.read_bytes()) | change))

    again = SqlStore(home)

    assert [one.id for one in again.results(Query())] == [first.id]
    assert len(again.problems) == 1


def test_an_index_that_is_damaged_in_the_middle_is_made_anew(home):
    store = SqlStore(home)
    ids = [one.id for one in stored(store, 5)]
    store.close()
    index = home / "index.sqlite"
    data = bytearray(index.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    index.write_bytes(data)
    for part in home.glob("index.sqlite-*"):
        part.unlink()

    again = SqlStore(home)

    assert [one.id for one in again.results(Query())] == ids


def test_adopting_checks_before_it_copies(store, tmp_path):
    with pytest.raises(UsageError, match="is no run folder"):
        store.adopt(tmp_path)


def test_adopting_twice_changes_nothing(store, tmp_path):
    other = SqlStore(tmp_path / "elsewhere")
    (made,) = stored(other)

    for _ in range(2):
        assert store.adopt(other.runs / made.run) == [made.id]

    assert list(store.results(Query())) == [made]


def test_a_home_that_is_a_file_is_said(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be opened"):
        SqlStore(tmp_path / "file")


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
    store._write("INSERT INTO summaries VALUES (?, ?, ?)", (made.id, 1, b'{"quantities": 5}'))

    assert store.summary(made.id, 1) is None


def test_a_series_is_read_from_the_index_alone(store, home):
    made = stored(store, 3)
    for one in made:
        store.keep_summary(one.id, 1, Summary(quantities={"step_time": SECOND}))
    shutil.rmtree(home / "runs")

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


def test_an_index_of_another_version_is_made_anew(store, home):
    made = stored(store)
    store._write("PRAGMA user_version = 1", ())
    store._write("ALTER TABLE results DROP COLUMN host", ())
    store.close()

    assert list(SqlStore(home).results(Query(machine=""))) == made
