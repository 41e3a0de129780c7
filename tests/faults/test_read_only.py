"""A store that cannot be written is listed, shown, compared and served."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import assay as lab
from assay.cli import main
from assay.core.records import Query
from assay.core.registry import open_store
from assay.web.html import page_html
from assay.web.pages import overview
from assay.web.pages.result import result_page
from assay.web.pages.run import run_page
from tests.kept_runs import CASE, OTHER

pytestmark = pytest.mark.real("jinja2")
NOBODY = 65534


@pytest.fixture
def store(keep, home, monkeypatch) -> Iterator[Path]:
    """Two runs in a store that anybody may read and nobody write; one of them is packed."""
    monkeypatch.setenv("ASSAY_UMASK", "022")
    keep((CASE, 0.01, "ok"), (OTHER, 0.02, "ok"))
    assert lab.pack("2100", store=home).runs == 1
    keep((CASE, 0.011, "ok"), (OTHER, 0.02, "failed"))
    place = Path(tempfile.mkdtemp(prefix="assay-read-only-"))
    place.chmod(0o755)
    shutil.copytree(home, place / "store")
    _set_modes(place / "store", 0o555, 0o444)
    yield place / "store"
    _set_modes(place / "store", 0o755, 0o644)
    shutil.rmtree(place)


def _set_modes(place: Path, folder: int, file: int) -> None:
    for path in (place, *place.rglob("*")):
        path.chmod(folder if path.is_dir() else file)


def as_a_reader(work: Callable[[], None]) -> str:
    """Run in a process that is not root, to which modes do not apply; returns what went wrong."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            work()
        except BaseException:
            os.write(write, traceback.format_exc().encode()[-60_000:])
        os._exit(0)
    os.close(write)
    with open(read, "rb") as file:
        problem = file.read().decode()
    os.waitpid(child, 0)
    return problem


def command(*words: str) -> tuple[int, str]:
    sys.argv = ["assay", *words]
    out = io.StringIO()
    status = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main.main()
        except SystemExit as left:
            status = int(left.code or 0)
    return status, out.getvalue()


def _without_index(store: Path) -> None:
    store.chmod(0o755)
    for path in store.glob("index.*"):
        path.unlink()
    store.chmod(0o555)


def _old_index(store: Path) -> None:
    import sqlite3

    store.chmod(0o755)
    for path in store.glob("index.*"):
        path.unlink()
    with contextlib.closing(sqlite3.connect(store / "index.sqlite")) as database:
        database.execute("CREATE TABLE results (id)")
        database.execute("PRAGMA user_version = 1")
    (store / "index.sqlite").chmod(0o444)
    store.chmod(0o555)


@pytest.mark.parametrize("change", [lambda store: None, _without_index, _old_index])
def test_a_store_that_cannot_be_written_is_read(store, home, change):
    change(store)
    _read(home)  # loads all modules: the reader may have no access to the interpreter's folder
    files = sorted(store.rglob("*"))

    def work() -> None:
        with contextlib.suppress(OSError):
            (store / "probe").touch()
        assert not (store / "probe").exists(), "this process can write to it"
        _read(store)

    assert as_a_reader(work) == ""
    assert sorted(store.rglob("*")) == files


def _read(store: Path) -> None:
    run = max(path.name for path in (store / "runs").iterdir())
    for words in (
        ("list",),
        ("list", "results"),
        ("show", "last"),
        ("compare", run, run),
    ):
        status, text = command("--store", str(store), *words)
        assert status in (0, 5, 6), (words, text)
    assert len(lab.read_results(store=store)) == 4
    _serve(store)


def _serve(store: Path) -> None:
    """The pages of every result, packed or not."""
    with contextlib.closing(open_store(store)) as opened:
        for result in list(opened.results(Query())):
            for page in (run_page(opened, result.run), result_page(opened, result.id)):
                assert page.status == 200 and result.run in page_html(page), result.id
        assert overview.runs_page(opened, {}).status == 200


def test_writing_to_it_is_one_sentence(store, home):
    words = (
        ("task", "run", "--", "echo", "n 3"),
        ("results", "label", "last", "new"),
        ("results", "rm", "last", "--yes"),
    )
    for each in words:  # loads all modules
        assert command("--store", str(home), *each)[0] == 0

    def work() -> None:
        for each in words:
            status, text = command("--store", str(store), *each)
            assert status == 4 and "cannot be written by this user" in text, (each, text)

    assert as_a_reader(work) == ""
