"""A file of another tool: kept as a run of its own, with the file, and only once."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from assay.core.errors import UsageError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.measure import import_file

DOCUMENT = {"results": [{"command": "ls", "times": [0.5, 0.25]}, {"command": "pwd", "times": [1]}]}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "it.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


def test_a_file_becomes_a_run_with_a_result_for_each_of_its_benchmarks(file, home):
    with closing(open_store(home)) as store:
        ids = import_file.keep_file(store, file, label="before", tags={"box": "a"})
        found = list(store.results(Query()))
        plan = store.plan(found[0].run)

    assert [one.id for one in found] == ids
    assert [one.case.key for one in found] == ["ls@hyperfine", "pwd@hyperfine"]
    assert {(one.label, one.tags["box"]) for one in found} == {("before", "a")}
    assert plan.verb == "import"
    assert (home / "runs" / found[0].run / "source.json").read_bytes() == file.read_bytes()


def test_the_same_file_is_imported_once(file, home):
    with closing(open_store(home)) as store:
        first = import_file.keep_file(store, file)
        assert import_file.keep_file(store, file) == first
        assert store.count(Query()) == 2


def test_without_a_date_of_its_own_a_result_has_that_of_the_file(file):
    import os

    os.utime(file, (1794852406, 1794852406))

    assert {one.started for one in import_file.read_file(file).results} == {
        "2026-11-16T18:06:46.000+00:00"
    }


def test_a_file_that_is_not_there_is_a_mistake(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        import_file.read_file(tmp_path / "nowhere.json")
