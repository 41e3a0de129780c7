"""Old runs in packs: everything is found as before, whatever happens in the middle."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable

import pytest

from assay.commands.results.api import count_files, old_results, pack, relabel, remove
from assay.core.errors import StoreError, UsageError
from assay.core.findings import ANALYSIS_VERSION
from assay.core.records import Query
from assay.stores import _packs as packs
from assay.stores import folders
from assay.stores.sqlite import SqliteStore
from tests.stores.test_sqlite import SECOND, stored


@pytest.fixture
def made(home):
    """Three runs of two results, measured in January 2026, one with a document and a trace."""
    store = SqliteStore(home)
    results = [one for _ in range(3) for one in stored(store, 2)]
    first = results[0].run
    store.keep_document(first, "race.json", b"{}")
    (store.folder(first) / "001" / "profile").mkdir()
    (store.folder(first) / "001" / "profile" / "trace").write_bytes(b"a trace")
    store.close()
    SqliteStore(home).close()  # whole runs are known
    return results


def kept(home) -> list:
    store = SqliteStore(home)
    try:
        return sorted(store.results(Query()), key=lambda result: result.id)
    finally:
        store.close()


def files_of(home) -> list:
    return [file for file in (home / "runs").rglob("*") if file.is_file()]


def test_packed_runs_are_found_as_before_in_one_file(home, made):
    found = pack("2026-02", home)

    assert (found.runs, len(found.packs), found.left) == (3, 1, ())
    assert files_of(home) == []
    assert kept(home) == sorted(made, key=lambda result: result.id)
    store = SqliteStore(home)
    assert store.plan(made[0].run).cases
    assert store.document(made[0].run, "race.json") == b"{}"
    assert store.document(made[0].run, "comparison.json") is None
    assert store.find(made[0].run[-4:]) == [made[0].id, made[1].id]
    assert store.find_run("last") == max(result.run for result in made)
    assert store.problems == []
    store.close()


def test_only_older_runs_are_packed_and_a_date_is_needed(home, made):
    assert pack("2025-12", home).runs == 0
    assert len(files_of(home)) > 6
    with pytest.raises(UsageError, match="'yesterday' is no date"):
        pack("yesterday", home)


def test_an_index_that_is_lost_is_made_from_packs(home, made):
    pack("2026-02", home)
    for part in home.glob("index*"):
        part.unlink()

    assert [one.id for one in kept(home)] == sorted(one.id for one in made)


def test_a_run_that_is_changed_gets_its_folder_back(home, made):
    pack("2026-02", home)
    relabel([made[0].id], "golden", home)

    assert (home / "runs" / made[0].run / "001" / "profile" / "trace").read_bytes() == b"a trace"
    assert {one.label for one in kept(home) if one.id == made[0].id} == {"golden"}
    assert pack("2026-02", home).runs == 1
    assert {one.label for one in kept(home) if one.id == made[0].id} == {"golden"}
    with zipfile.ZipFile(sorted((home / "packs").iterdir())[0]) as old:
        assert not any(name.startswith(made[0].run) for name in old.namelist())


def test_what_is_removed_does_not_come_back(home, made):
    pack("2026-02", home)
    assert remove([made[0].id], home) == [made[0].id]
    assert remove([made[2].run], home) == [made[2].id, made[3].id]

    assert [one.id for one in kept(home)] == sorted(one.id for one in (made[1], *made[4:]))
    remove([made[1].id, made[4].run], home)
    assert kept(home) == [] and list((home / "packs").iterdir()) == []


def test_a_run_that_is_measured_stays_a_folder(home, made):
    with folders.lock_run(home / "runs" / made[0].run):
        found = pack("2026-02", home)

    assert (found.runs, found.left) == (2, (made[0].run,))
    assert len(kept(home)) == 6


@pytest.mark.parametrize("call", range(1, 9))
def test_nothing_is_lost_when_packing_is_killed(home, made, call):
    """At the n-th file or folder that gets its name or goes."""
    assert killed_at(call, lambda: pack("2026-02", home))
    assert kept(home) == sorted(made, key=lambda result: result.id)
    pack("2026-02", home)
    assert kept(home) == sorted(made, key=lambda result: result.id)
    assert files_of(home) == []


@pytest.mark.parametrize("call", range(1, 4))
def test_nothing_but_what_was_named_is_lost_when_a_removal_is_killed(home, made, call):
    pack("2026-02", home)
    named = [made[0].id, made[2].run]
    assert killed_at(call, lambda: remove(named, home))

    left = {one.id for one in kept(home)}
    assert {made[1].id, made[4].id, made[5].id} <= left
    if left & {made[0].id, made[2].id}:
        remove([one for one in (made[0].id, made[2].id, made[3].id) if one in left], home)
    (home / "index.sqlite").unlink()
    assert {one.id for one in kept(home)} == {made[1].id, made[4].id, made[5].id}


def killed_at(call: int, action: Callable[[], object]) -> bool:
    """Done in a process that ends at the n-th file or folder that gets its name or goes."""
    child = os.fork()
    if not child:
        left = [call]
        for name in ("rename", "replace", "unlink", "rmdir"):
            _ends_at(left, name)
        action()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def _ends_at(left: list[int], name: str) -> None:
    real = getattr(os, name)

    def counted(*words, **named):
        left[0] -= 1
        if not left[0]:
            os._exit(9)
        return real(*words, **named)

    setattr(os, name, counted)


def test_a_damaged_pack_is_named_and_the_rest_is_shown(home, made):
    pack("2026-02", home)
    (file,) = (home / "packs").iterdir()
    whole = file.read_bytes()
    store = SqliteStore(home)
    fresh = stored(store)
    store.close()
    file.write_bytes(whole[: len(whole) // 2])
    store = SqliteStore(home)

    assert [one.id for one in store.results(Query())] == [fresh[0].id]
    assert any("cannot be used" in problem for problem in store.problems)
    store.close()
    file.write_bytes(whole)
    assert len(kept(home)) == 7


def test_a_pipe_in_the_place_of_a_pack_is_not_waited_for(home, made):
    pack("2026-02", home)
    (file,) = (home / "packs").iterdir()
    file.unlink()
    os.mkfifo(file)
    store = SqliteStore(home)

    assert list(store.results(Query())) == []
    assert all("no plain file" in problem for problem in store.problems)
    store.close()


def test_several_runs_leave_a_pack_that_is_written_once(home, made, monkeypatch):
    pack("2026-02", home)
    written = []
    real = packs.drop
    monkeypatch.setattr(packs, "drop", lambda pack, runs: written.append(runs) or real(pack, runs))
    remove([made[0].id, made[2].run], home)  # of the first run, the second result stays

    assert written == [{made[0].run, made[2].run}]
    assert [one.id for one in kept(home)] == sorted(one.id for one in (made[1], *made[4:]))


def test_what_packed_results_take_is_told_from_the_pack(home, made):
    before = count_files([made[0].run], home)
    pack("2026-02", home)

    assert count_files([made[0].run], home) == before
    assert len(old_results(Query(until="2026-01"), store=home)) == 6
    assert files_of(home) == []


def test_two_processes_remove_from_one_pack_at_once(home, made):
    """Each opens the pack first; what one left out would come back with the other's."""
    pack("2026-02", home)
    stores = [SqliteStore(home), SqliteStore(home)]
    for store in stores:
        assert store.plan(made[0].run).cases
    for store, run in zip(stores, (made[0].run, made[2].run), strict=True):
        store.delete(run)
        store.close()
    (file,) = (home / "packs").iterdir()

    with zipfile.ZipFile(file) as left:
        assert {name.partition("/")[0] for name in left.namelist()} == {made[4].run}


def test_a_reader_misses_nothing_while_runs_are_packed(home, made):
    reader, seen = SqliteStore(home), 0
    child = os.fork()
    if not child:
        pack("2026-02", home)
        os._exit(0)
    ended = 0
    while not ended or seen < 2:
        assert len(list(reader.results(Query()))) == 6, reader.problems
        seen += 1
        ended = ended or os.waitpid(child, os.WNOHANG)[0]

    assert files_of(home) == []
    assert len(list(reader.results(Query()))) == 6
    reader.close()


def test_a_pack_made_to_harm_leads_nowhere_else(home, made, tmp_path):
    pack("2026-02", home)
    with zipfile.ZipFile(home / "packs" / "20260101-000000-000000-0000.zip", "w") as file:
        for name in ("../evil/001/result.json", "20260101-000000-evil/../../evil", "/evil"):
            file.writestr(name, b"{}")

    assert len(kept(home)) == 6
    assert not list(tmp_path.rglob("*evil*"))


def test_a_run_that_cannot_be_restored_leaves_nothing_behind(home, made):
    pack("2026-02", home)
    (file,) = (home / "packs").iterdir()
    with zipfile.ZipFile(file, "a") as damaged:
        damaged.writestr(f"{made[0].run}/001/result.json/x", b"a file below a file")

    with pytest.raises(StoreError, match="cannot be used"):
        relabel([made[0].id], "golden", home)

    assert [path.name for path in (home / "runs").iterdir() if "restored" in path.name] == []


def test_a_pack_that_is_gone_takes_its_runs_along(home, made):
    pack("2026-02", home)
    shutil.rmtree(home / "packs")
    store = SqliteStore(home)

    assert list(store.results(Query())) == []
    assert len(store.problems) == 6
    store.close()


def test_summaries_and_points_stay(home, made):
    from assay.core.findings import Summary

    store = SqliteStore(home)
    summary = Summary(quantities={"step_time": SECOND})
    store.keep_summary(made[0].id, ANALYSIS_VERSION, summary)
    store.close()
    pack("2026-02", home)
    store = SqliteStore(home)

    (series,) = store.series(Query())
    assert [point.id for point in store.points(series.series.id, "step_time")] == [made[0].id]
    store.close()
