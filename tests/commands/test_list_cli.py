"""assay list: workloads, backends, results, tasks and benchmarks, for people and for programs."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from assay.core.registry import open_store
from tests.stores.test_sqlite import stored

DATA = str(Path(__file__).parent.parent / "data")
FINE = "bench_endings.Endings.benchmark_fine"


def test_lists_can_be_json(assay, kept):
    _, out, _ = assay("list", "results", "--label", "first", "--format", "json")

    assert json.loads(out)["rows"][0]["id"] == f"{kept}/001"


def test_a_count_of_results_below_zero_is_refused(assay):
    status, _, error = assay("list", "results", "--limit", "-1")

    assert status == 2
    assert "limit is -1, but has to be 0 or more" in error


@pytest.mark.parametrize("what", ["workloads", "backends"])
def test_a_list_in_a_pipe_is_wrapped_and_as_csv_it_is_not(assay, what):
    _, text, _ = assay("list", what)
    _, values, _ = assay("list", what, "--format", "csv")

    assert max(map(len, text.splitlines())) <= 120
    assert max(map(len, values.splitlines())) > 120


def test_tasks_are_listed(assay, folder):
    status, out, _ = assay("list", "tasks")

    assert status == 0
    assert "documented" in out
    assert "a metric policy" in out


def test_benchmarks_of_a_package_are_listed(assay, monkeypatch):
    monkeypatch.chdir(DATA)
    status, out, _ = assay("list", "benchmarks", "bench_endings")

    assert status == 0
    assert f"{FINE}  " in out
    assert "All is well." in out


def test_a_backend_says_whether_it_can_be_used_here(assay):
    _, out, _ = assay("list", "backends", "--format", "json")

    here = {row["backend"]: row["here"] for row in json.loads(out)["rows"]}
    assert here["python"] == "usable"


def test_an_empty_store_lists_nothing(assay):
    status, out, error = assay("list", "results", "--format", "json")

    assert (status, error) == (0, "")
    assert json.loads(out)["rows"] == []


@pytest.mark.parametrize("name", ["gpu", "gpu.memory", "it's", 'so "called"'])
def test_results_are_found_by_a_tag_of_any_name(assay, home, name):
    with closing(open_store(home)) as store:
        stored(store)
        (wanted,) = stored(store, tags={name: "H200"})

    _, out, _ = assay("list", "results", "--tag", f"{name}=H200", "--format", "json")

    assert [row["id"] for row in json.loads(out)["rows"]] == [wanted.id]


def test_the_newest_so_many_are_shown(assay, home):
    with closing(open_store(home)) as store:
        *_, newest = stored(store, 3)

    _, out, _ = assay("list", "results", "--limit", "1", "--format", "json")

    assert [row["id"] for row in json.loads(out)["rows"]] == [newest.id]


def test_more_than_any_store_holds_may_be_asked_for(assay, kept):
    status, out, _ = assay("list", "results", "--limit", "1" + "0" * 20, "--format", "json")

    assert (status, len(json.loads(out)["rows"])) == (0, 1)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("benchmarks",), "benchmarks were given with no package"),
        (("workloads", "x"), "workloads were given with x"),
        (("benchmarks", "no_such"), "there is no module 'no_such'"),
        (("tasks", "--file", "nowhere.toml"), "nowhere.toml"),
        (("results", "--tag", "x"), "--tag got 'x'"),
    ],
)
def test_misuse_is_one_sentence(assay, words, complaint):
    status, out, error = assay("list", *words)

    assert (status, out) == (2, "")
    assert complaint in error
