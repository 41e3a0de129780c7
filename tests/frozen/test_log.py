"""Parent and workers say what they said at f7cfc39, in the same order."""

import shutil

import pytest

from tests.frozen import log


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shutil.copy(log.DATA / "cases.py", tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", log.COMMANDS)
def test_a_command_exchanges_the_same_messages(folder, name):
    assert log.record(name) == log.recorded(name)


def test_a_worker_that_is_measured_alone_is_never_stopped():
    events = log.recorded("run")["workers"].values()

    assert not [event for worker in events for event in worker if event.startswith("SIG")]


def test_repeated_blocks_stand_once():
    turn = ["SIGCONT", "> take", "< taken", "SIGSTOP"]

    assert log.without_repeats(["> open", *turn, *turn, *turn, "> close"]) == [
        "> open",
        *turn,
        "> close",
    ]
