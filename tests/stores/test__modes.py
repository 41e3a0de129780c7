"""Modes of stored files: private, those of the store's folder, or of ASSAY_UMASK."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import assay as lab
from assay.core.errors import UsageError
from assay.stores.sqlite import SqliteStore
from tests.kept_runs import CASE
from tests.stores.test_sqlite import stored


@pytest.fixture(autouse=True)
def usual_umask(monkeypatch):
    monkeypatch.delenv("ASSAY_UMASK", raising=False)
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(place: Path) -> tuple[set[int], set[int]]:
    """Of the folders of runs, and of the files in them."""
    paths = [place / "runs", *(place / "runs").rglob("*")]
    found = [path.lstat().st_mode for path in paths]
    folders = {stat.S_IMODE(mode) for mode in found if stat.S_ISDIR(mode)}
    return folders, {stat.S_IMODE(mode) for mode in found if stat.S_ISREG(mode)}


def store_a_run(home: Path) -> None:
    store = SqliteStore(home)
    (made,) = stored(store)
    store.amend(made.id, "label", {})
    store.keep_document(made.run, "race.json", b"{}")
    store.close()


def test_a_new_store_is_private(home):
    store_a_run(home)

    assert modes(home) == ({0o700}, {0o600})
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "index.sqlite").stat().st_mode) == 0o600


def test_logs_of_a_measured_command_are_private(home, assay):
    assert assay("task", "run", "--", "echo", "n 3")[0] == 0

    assert list((home / "runs").glob("*/001/log.gz"))
    assert modes(home) == ({0o700}, {0o600})


@pytest.mark.parametrize(("mode", "file"), [(0o755, 0o644), (0o2770, 0o660), (0o700, 0o600)])
def test_an_existing_store_keeps_its_mode(home, mode, file):
    (home / "runs").mkdir(parents=True)
    (home / "runs").chmod(mode)

    store_a_run(home)

    folders, files = modes(home)
    assert ({folder & 0o777 for folder in folders}, files) == ({mode & 0o777}, {file})
    assert stat.S_IMODE((home / "runs").stat().st_mode) == mode


def test_a_variable_overrides_both(home, monkeypatch):
    monkeypatch.setenv("ASSAY_UMASK", "027")
    store_a_run(home)
    assert modes(home) == ({0o750}, {0o640})

    monkeypatch.setenv("ASSAY_UMASK", "0777")
    with pytest.raises(UsageError, match="ASSAY_UMASK is '0777'"):
        store_a_run(home)


def test_a_packed_and_restored_run_is_private(home, keep):
    run = keep((CASE, 0.01, "ok"))
    assert lab.pack("2100", store=home).runs == 1
    (pack,) = (home / "packs").iterdir()
    assert stat.S_IMODE(pack.stat().st_mode) == 0o600

    SqliteStore(home).folder(run)

    assert modes(home) == ({0o700}, {0o600})


def test_what_a_user_asks_for_follows_the_umask(home, keep, tmp_path):
    run = keep((CASE, 0.01, "ok"))
    os.umask(0o027)

    lab.export(run, kind="csv", output=tmp_path / "out.csv", store=home)
    lab.report(run, tmp_path / "report.html", store=home)

    for name in ("out.csv", "report.html"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640
