"""Writing of files: through no link, over no device, under no name that others can guess."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from assay.cli import main
from assay.commands.task.api import Task
from assay.core.errors import AssayError
from assay.core.files import atomic_path, check_output, user_file, write_atomic, write_user_file
from assay.stores.sqlite import SqliteStore
from tests.stores.test_sqlite import stored


def link(path: Path) -> None:
    path.symlink_to(path.parent / "victim")


def dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nothing")


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def device(path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes a device")


KINDS = (link, dangling_link, folder, pipe, device)
COMMANDS = (
    ("export", "--as", "pyperf", "last", "-o", "{}"),
    ("export", "--as", "csv", "last", "-o", "{}"),
    ("report", "last", "-o", "{}"),
    ("plot", "last", "-o", "{}"),
)


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim"
    path.write_text("as it was")
    return path


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("write", [write_atomic, write_user_file], ids=["write_atomic", "user"])
def test_only_a_regular_file_is_replaced(write, make, victim):
    path = victim.with_name("output")
    make(path)
    before = path.lstat()

    with pytest.raises((OSError, AssayError), match="there, which stays as it is"):
        write(path, b"new")
    with pytest.raises(AssayError, match="cannot be written"):
        check_output(path)

    after = path.lstat()
    assert (after.st_ino, after.st_mode, after.st_rdev) == (
        before.st_ino,
        before.st_mode,
        before.st_rdev,
    )
    assert victim.read_text() == "as it was"
    assert sorted(os.listdir(victim.parent)) == ["output", "victim"]


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:3]))
def test_an_output_path_that_is_no_regular_file_is_refused(
    words, make, victim, home, monkeypatch, capsys
):
    store = SqliteStore(home)
    stored(store)
    store.close()
    path = victim.with_name("output" + {"report": ".html", "plot": ".png"}.get(words[0], ".json"))
    make(path)
    before = path.lstat()
    monkeypatch.setattr("sys.argv", ["assay", *(word.format(path) for word in words)])

    with pytest.raises(SystemExit) as ended:
        main.main()

    assert ended.value.code not in (0, None)
    assert f"error: {path} cannot be written" in capsys.readouterr().err
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert victim.read_text() == "as it was"


def test_temporary_files_have_names_that_nobody_can_guess(tmp_path, victim):
    names = set()
    for _ in range(3):
        with atomic_path(tmp_path / "file") as temporary:
            names.add(temporary.name)

    assert len(names) == 3
    assert all(name.startswith(".") and name.endswith("-file") for name in names)


def test_a_name_that_is_there_already_is_not_opened(tmp_path, victim, monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda count: b"\0" * count)
    (tmp_path / f".{'00' * 8}-file").symlink_to(victim)

    with pytest.raises(FileExistsError), atomic_path(tmp_path / "file"):
        pass

    assert victim.read_text() == "as it was"


def test_a_long_name_is_written(tmp_path):
    path = tmp_path / ("x" * 250 + ".json")

    write_atomic(path, b"{}")

    assert path.read_bytes() == b"{}"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    with pytest.raises(RuntimeError), user_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError

    assert (path.read_text(), os.listdir(tmp_path)) == ("old", ["file"])


def test_a_published_site_follows_no_link_in_its_folder(home, victim, tmp_path):
    pytest.importorskip("jinja2")
    from assay.web.publish import publish

    store = SqliteStore(home)
    stored(store)
    store.close()
    site = publish(tmp_path / "site", store=home)
    (site / "index.html").unlink()
    (site / "index.html").symlink_to(victim)

    with pytest.raises(AssayError, match="a link is there"):
        publish(site, store=home)

    assert victim.read_text() == "as it was"


def test_a_task_is_not_saved_through_a_dangling_link(tmp_path):
    from assay.commands.task import api

    path = tmp_path / "task.toml"
    path.symlink_to(tmp_path / "elsewhere")
    task = Task(name="x", command=("true",))

    with pytest.raises(AssayError, match="a link is there"):
        api.save(task, api.suggest_from(_log(tmp_path)), path)

    assert not (tmp_path / "elsewhere").exists()


def _log(folder: Path) -> Path:
    log = folder / "log"
    log.write_text("loss: 0.5\nloss: 0.25\n")
    return log
