"""Kept results put in order: what was measured stays, and nothing goes unnamed."""

from __future__ import annotations

from contextlib import closing

import pytest

import assay
from assay.commands.results import api
from assay.core.errors import UsageError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.stores import folders
from assay.stores.sqlite import SqliteStore
from tests.stores.test_sqlite import stored


@pytest.fixture
def store(home):
    with closing(open_store(home)) as opened:
        yield opened


def labels(home) -> list[str]:
    return [reading.result.label for reading in assay.read_results(store=home)]


def test_a_label_given_later_is_found_and_the_result_stays_as_it_was_measured(store, home):
    first, _ = stored(store, 2)
    file = store.folder(first.run) / "001" / "result.json"
    before = file.read_bytes()

    assert assay.relabel([first.id], "baseline") == [first.id]

    assert file.read_bytes() == before
    assert [r.id for r in store.results(Query(label="baseline"))] == [first.id]
    assert labels(home) == ["baseline", ""]


def test_a_label_given_later_survives_the_index(store, home):
    (made,) = stored(store)
    assay.relabel([made.id], "baseline")
    store.close()
    for file in home.glob("index.sqlite*"):
        file.unlink()

    assert [r.id for r in SqliteStore(home).results(Query(label="baseline"))] == [made.id]


def test_tags_are_added_changed_and_dropped(store):
    (made,) = stored(store, tags={"gpu": "none", "note": "x"})

    assay.retag([made.id], {"gpu": "H200", "api_key": "12345"}, drop=["note"])

    (found,) = store.results(Query())
    assert found.tags == {"gpu": "H200", "api_key": "(not stored)"}


def test_a_run_whose_every_result_goes_is_removed_whole(store):
    made, kept = stored(store, 2), stored(store)

    assert assay.remove([made[0].run]) == [one.id for one in made]

    assert not store.folder(made[0].run).exists()
    assert [r.id for r in store.results(Query())] == [kept[0].id]


def test_a_run_that_is_being_measured_is_not_removed(store):
    (made,) = stored(store)

    with (
        folders.lock_run(store.folder(made.run)),
        pytest.raises(UsageError, match="is being measured"),
    ):
        assay.remove([made.run])


def test_pruning_keeps_the_newest_of_each_series_and_what_has_a_label(store):
    made = stored(store, 5)
    assay.relabel([made[0].id], "baseline")

    assert [one.result.id for one in assay.old_results(keep=2)] == [made[1].id, made[2].id]
    named = assay.old_results(Query(label="baseline"))
    assert [one.result.id for one in named] == [made[0].id]


def test_pruning_everything_has_to_be_said():
    with pytest.raises(UsageError, match="needs a filter"):
        assay.old_results()


def test_what_a_result_takes_is_counted(store):
    (made,) = stored(store)

    (found,) = api.count_files([made.id])

    size = (store.folder(made.run) / "001" / "result.json").stat().st_size
    assert (found.files, found.bytes) == (1, size)
