"""The store in a folder: the index is made from the run folders, whatever becomes of it."""

from __future__ import annotations

import math
import os
import shutil

import pytest

from assay.core.errors import StoreError
from assay.core.findings import Quantity
from assay.core.records import Case, Plan, Procedure, Query, Result, Samples
from assay.stores.sqlite import SqliteStore

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


def stored(store: SqliteStore, cases: int = 1, **fields: object) -> list[Result]:
    """A run with so many results, appended."""
    run = store.new_run(Plan(cases=(CASE,) * cases))
    made = [result(run.name, number, **fields) for number in range(1, cases + 1)]
    for one in made:
        (run / one.id.partition("/")[2]).mkdir()
        store.append(one)
    return made


@pytest.fixture
def store(home):
    opened = SqliteStore(home)
    yield opened
    opened.close()


def test_an_index_that_is_lost_is_made_anew(store, home):
    made = stored(store, 2)
    store.close()
    for file in home.glob("index.sqlite*"):
        file.unlink()

    assert list(SqliteStore(home).results(Query())) == made


def test_a_damaged_index_is_put_aside_and_made_anew(store, home):
    made = stored(store)
    store.close()
    for file in home.glob("index.sqlite-*"):
        file.unlink()
    (home / "index.sqlite").write_bytes(b"no database at all" * 1000)

    assert list(SqliteStore(home).results(Query())) == made
    assert (home / "damaged-index.sqlite").exists()


def test_a_run_folder_the_index_has_not_seen_is_picked_up(store, home, tmp_path):
    other = SqliteStore(tmp_path / "elsewhere")
    made = stored(other)
    shutil.copytree(other.runs / made[0].run, home / "runs" / made[0].run)

    assert list(SqliteStore(home).results(Query())) == made


@pytest.mark.parametrize("name", ["20991231-235959-zzzz", "99999999-999999-aaaa", "zzz", "a b"])
def test_a_stray_folder_is_not_the_last_run(store, name):
    (made,) = stored(store)
    (store.runs / name).mkdir()
    (store.runs / "a-file").touch()

    assert store.find("last") == [made.id]


def test_an_index_that_is_damaged_in_the_middle_is_made_anew(home):
    store = SqliteStore(home)
    ids = [one.id for one in stored(store, 5)]
    store.close()
    index = home / "index.sqlite"
    data = bytearray(index.read_bytes())
    data[4096:] = os.urandom(len(data) - 4096)
    index.write_bytes(data)
    for part in home.glob("index.sqlite-*"):
        part.unlink()

    again = SqliteStore(home)

    assert [one.id for one in again.results(Query())] == ids


def test_a_home_that_is_a_file_is_said(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="cannot be opened"):
        SqliteStore(tmp_path / "file")


def test_an_index_of_another_version_is_made_anew(store, home):
    made = stored(store)
    store._write("PRAGMA user_version = 1", ())
    store._write("ALTER TABLE results DROP COLUMN host", ())
    store.close()

    assert list(SqliteStore(home).results(Query(machine=""))) == made
