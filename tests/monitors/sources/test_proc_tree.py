"""Which processes belong to a worker."""

import pytest

from assay.monitors.sources.proc import Tree


@pytest.fixture
def add(tmp_path):
    def add(pid, parent, session, name="python"):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(
            f"{pid} ({name}) S {parent} {session} {session} 0 -1\n"
        )

    return add


def test_children_and_grandchildren_are_found(tmp_path, add):
    add(10, 1, 10)
    add(11, 10, 10)
    add(12, 11, 12)
    add(13, 1, 1)
    tree = Tree(10, str(tmp_path))

    tree.refresh()

    assert tree.pids == [10, 11, 12]


def test_an_orphan_of_the_session_still_belongs(tmp_path, add):
    add(10, 1, 10)
    add(20, 1, 10)
    tree = Tree(10, str(tmp_path))

    tree.refresh()

    assert tree.pids == [10, 20]


def test_a_name_with_parentheses_and_spaces_misleads_nobody(tmp_path, add):
    add(10, 1, 10)
    add(11, 10, 5, name="a) S 1 1 (b")
    tree = Tree(10, str(tmp_path))

    tree.refresh()

    assert tree.pids == [10, 11]


def test_a_process_that_vanishes_between_list_and_read_is_left_out(tmp_path, add):
    add(10, 1, 10)
    (tmp_path / "11").mkdir()
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "stat").write_text("12 (x")
    tree = Tree(10, str(tmp_path))

    tree.refresh()

    assert tree.pids == [10]


def test_one_that_left_is_dropped(tmp_path, add):
    add(10, 1, 10)
    add(11, 10, 10)
    tree = Tree(10, str(tmp_path))
    tree.refresh()
    (tmp_path / "11" / "stat").unlink()
    (tmp_path / "11").rmdir()

    tree.refresh()

    assert tree.pids == [10]


def test_without_proc_the_worker_alone_is_watched(tmp_path):
    tree = Tree(10, str(tmp_path / "none"))

    tree.refresh()

    assert tree.pids == [10]
