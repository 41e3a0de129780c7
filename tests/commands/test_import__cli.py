"""assay import: run folders from another machine."""

from __future__ import annotations

import shutil

import pytest


def test_import_takes_in_a_run_from_elsewhere(assay, kept, home, tmp_path):
    status, out, _ = assay("import", str(home / "runs" / kept), "--home", str(tmp_path / "other"))

    assert (status, out) == (0, f"{kept}/001\n")
    assert assay("show", kept, "--home", str(tmp_path / "other"))[0] == 0


def test_a_run_is_imported_once_and_stays_as_it_is(assay, kept, home):
    before = (home / "runs" / kept / "001" / "result.json").read_bytes()

    status, out, _ = assay("import", str(home / "runs" / kept))

    assert (status, out) == (0, f"{kept}/001\n")
    assert (home / "runs" / kept / "001" / "result.json").read_bytes() == before


def test_a_run_that_lacks_its_plan_can_be_shown_too(assay, kept, home, tmp_path):
    """So is one that was saved where the disk of its home was full."""
    shutil.copytree(home / "runs" / kept / "001", tmp_path / kept / "001")
    assay("import", str(tmp_path / kept), "--home", str(tmp_path / "other"))

    status, out, error = assay("show", kept, "--home", str(tmp_path / "other"))

    assert status == 0, error
    assert f"{kept}/001" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("nowhere",), "There is no file or folder 'nowhere'"),
        ((".",), "it has no NNN/result.json"),
        ((), "Missing argument"),
    ],
)
def test_what_is_no_run_folder_is_refused(assay, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)

    status, out, error = assay("import", *words)

    assert (status, out) == (2, "")
    assert complaint in error
