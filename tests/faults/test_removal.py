"""`results rm` killed at every step: what is removed stays removed, and nothing else is."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from assay.commands.results.api import pack, remove
from assay.core.records import Query
from assay.stores.sqlite import SqliteStore
from tests.stores.test_sqlite import stored

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload([__name__])
TRACED = (f"{os.sep}assay{os.sep}stores{os.sep}", shutil.__file__)
STEP = {"short": 97, "long": 1}  # lines between two kills


def folders_only(home: Path, runs: list[str]) -> None:
    pass


def packed(home: Path, runs: list[str]) -> None:
    pack("2027", home)


def packed_and_restored(home: Path, runs: list[str]) -> None:
    pack("2027", home)
    with closing(SqliteStore(home)) as store:
        store.folder(runs[0])


LAYOUTS = (folders_only, packed, packed_and_restored)


@pytest.mark.parametrize("length", ["short", pytest.param("long", marks=pytest.mark.long)])
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
@pytest.mark.parametrize("selection", ["a run", "a result", "two runs"])
@pytest.mark.timeout(3600)
def test_a_killed_removal_leaves_each_result_whole_or_gone(
    selection, layout, length, tmp_path, capsys
):
    base = tmp_path / "base"
    runs = _store(base)
    layout(base, runs)
    asked = {"a run": [runs[0]], "a result": [f"{runs[0]}/001"], "two runs": runs[:2]}[selection]
    doomed = {i for i in _ids(runs) if any(i == text or i.startswith(f"{text}/") for text in asked)}
    kills, wrong, line = 0, [], 0

    while _killed(shutil.copytree(base, tmp_path / str(line)), asked, line):
        wrong += [f"line {line}: {what}" for what in _faults(tmp_path / str(line), runs, doomed)]
        shutil.rmtree(tmp_path / str(line))
        kills, line = kills + 1, line + STEP[length]

    with capsys.disabled():
        sys.stdout.write(f"\n{kills} kills in the removal of {selection}, {layout.__name__} ")
    assert wrong == []
    assert kills > 3
    assert _stored(tmp_path / str(line)) == (set(_ids(runs)) - doomed, [])


def test_a_removal_that_cannot_be_finished_does_not_close_the_store(home, monkeypatch):
    runs = _store(home)
    (home / "runs" / runs[0]).rename(home / "runs" / f".removed-00000000-{runs[0]}")

    def refused(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(shutil, "rmtree", refused)
    ids, problems = _stored(home)

    assert ids == {i for i in _ids(runs) if not i.startswith(runs[0])}
    assert len(problems) == 1
    assert "Permission denied" in problems[0]


def _store(home: Path) -> list[str]:
    """Three runs of two results, one with a folder in a folder."""
    with closing(SqliteStore(home)) as store:
        runs = [stored(store, 2)[0].run for _ in range(3)]
        trace = store.folder(runs[0]) / "001" / "profile" / "trace"
        trace.parent.mkdir()
        trace.write_bytes(b"a trace")
    SqliteStore(home).close()  # complete runs are known
    return runs


def _ids(runs: list[str]) -> list[str]:
    return [f"{run}/{case}" for run in runs for case in ("001", "002")]


def _killed(home: Path, asked: list[str], line: int) -> bool:
    """Remove in a process that kills itself at this line; False if it ended before."""
    process = CONTEXT.Process(target=_remove, args=(home, asked, line))
    process.start()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL)
    return process.exitcode != 0


def _remove(home: Path, asked: list[str], line: int) -> None:
    lines = iter(range(line, -1, -1))

    def count(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if not any(part in frame.f_code.co_filename for part in TRACED):
            return None
        if event == "line" and not next(lines):
            os.kill(os.getpid(), signal.SIGKILL)
        return count

    sys.settrace(count)
    remove(asked, home)
    sys.settrace(None)


def _faults(home: Path, runs: list[str], doomed: set[str]) -> list[str]:
    """After a kill, with the index and without: the other results, and each doomed one or not."""
    ids, problems = _stored(home)
    for file in home.glob("index.sqlite*"):
        file.unlink()
    again, more = _stored(home)
    left = [path.name for path in (home / "runs").glob(".removed-*")]
    faults = [*problems, *more, *left]
    if not set(_ids(runs)) - doomed <= ids:
        faults.append(f"others are lost: {sorted(ids)}")
    if ids != again:
        faults.append(f"{sorted(ids ^ again)} differ without the index")
    if any(
        (home / "runs" / run / "001").exists() != (f"{run}/001" in ids) for run in _folders(home)
    ):
        faults.append("a folder without a result")
    return faults


def _folders(home: Path) -> list[str]:
    return [path.name for path in (home / "runs").iterdir() if not path.name.startswith(".")]


def _stored(home: Path) -> tuple[set[str], list[str]]:
    """Ids of the results that can be read, all of which the index knows, and problems."""
    with closing(SqliteStore(home)) as store:
        ids = {result.id for result in store.results(Query())}
        assert {entry.id for entry in store.entries(Query())} == ids
        return ids, store.problems
