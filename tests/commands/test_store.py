"""A copy from one store to another: everything, once, however often it is broken off."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import assay
from assay.core.errors import StoreError, UsageError
from assay.core.findings import ANALYSIS_VERSION
from assay.core.records import Query
from assay.core.registry import open_store
from assay.stores import postgresql
from tests.kept_runs import CASE, OTHER


@pytest.fixture
def source(home, keep) -> str:
    """A folder with two runs of two results each, and a log."""
    for _ in range(2):
        run = keep((CASE, 0.01, "ok"), (OTHER, 0.02, "failed"))
        (home / "runs" / run / "001" / "worker.log").write_text("printed")
    return str(home)


def held(place) -> tuple[list[assay.Result], int]:
    with closing(open_store(place)) as store:
        points = store.series(Query())
        return list(store.results(Query())), sum(series.count for series in points)


@pytest.mark.real("postgresql", "psycopg")
def test_a_store_is_copied_to_a_database_and_back_with_logs_and_points(source, database, tmp_path):
    there = assay.copy_store(source, database)
    again = assay.copy_store(source, database)
    back = assay.copy_store(database, tmp_path / "back")

    assert (there.copied, again.copied, back.copied) == (4, 0, 4)
    assert held(source) == held(database) == held(tmp_path / "back")
    for one in held(source)[0][::2]:
        assert (tmp_path / "back" / "runs" / one.id / "worker.log").read_text() == "printed"
        with closing(open_store(tmp_path / "back")) as store:
            assert store.summary(one.id, ANALYSIS_VERSION) is not None


@pytest.mark.real("postgresql", "psycopg")
def test_a_copy_that_was_broken_off_goes_on_where_it_was(source, database, monkeypatch):
    put, calls = postgresql.files.put_file, []

    def breaks(*given):
        calls.append(given)
        if len(calls) == 5:  # in the second run: nothing of it may stay
            raise KeyboardInterrupt
        put(*given)

    monkeypatch.setattr(postgresql.files, "put_file", breaks)
    with pytest.raises(KeyboardInterrupt):
        assay.copy_store(source, database)
    monkeypatch.undo()
    monkeypatch.setenv("ASSAY_HOME", source)

    assert len(held(database)[0]) == 2
    assert assay.copy_store(source, database).copied == 2
    assert held(database) == held(source)


def test_a_run_that_cannot_be_read_is_said_and_the_rest_copied(source, home, tmp_path):
    run = sorted((home / "runs").iterdir())[0]
    with closing(open_store(home)):
        (run / "001" / "result.json").write_text("{")

    found = assay.copy_store(source, tmp_path / "other")

    assert found.copied == 2
    assert f"Run {run.name} was not copied" in found.problems[0]


def test_a_store_is_not_copied_onto_itself(source):
    with pytest.raises(UsageError, match="is the one to copy to"):
        assay.copy_store(source, f"sqlite:{source}")


def test_places_that_cannot_be_opened_are_said(source, tmp_path):
    file = tmp_path / "file"
    file.touch()

    with pytest.raises(StoreError, match="cannot be opened"):
        assay.copy_store(source, file)
    with pytest.raises(UsageError, match="There is no store named 'mysql'"):
        assay.copy_store(source, "mysql://host/db")
    assert Path(source).is_dir()
