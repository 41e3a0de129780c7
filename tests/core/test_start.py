"""How a worker is started: with this assay, and with nothing of the current folder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import assay
from assay.core.start import command

PACKAGE = Path(assay.__file__).parent


def hostile(folder):
    """A folder whose files have the names of modules that every worker needs."""
    for name in ("json", "random", "torch", "msgspec", "runpy", "typing", "numpy"):
        (folder / f"{name}.py").write_text(f"print('{name} of the current folder ran')")
    return folder


def started(tmp_path, monkeypatch, foreign):
    """What a module prints that is started as workers are, in a hostile folder."""
    tells = "import sys, json, random, msgspec, assay; print(assay.__file__); print(sys.path)"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tells.py").write_text(tells)
    monkeypatch.setenv("PYTHONPATH", f":{tmp_path / 'own'}")
    words = command("tells", borrowed=str(PACKAGE.parent) if foreign else "")
    (tmp_path / "cwd").mkdir()
    where = hostile(tmp_path / "cwd")
    ran = subprocess.run(words, capture_output=True, text=True, cwd=where, check=True)
    return ran.stdout.splitlines(), str(where)


@pytest.mark.parametrize("foreign", [False, True])
def test_nothing_of_the_current_folder_runs_in_a_worker(tmp_path, monkeypatch, foreign):
    lines, where = started(tmp_path, monkeypatch, foreign)

    assert len(lines) == 2, lines
    assert Path(lines[0]).resolve() == Path(assay.__file__).resolve()
    assert where not in lines[1]


def test_our_own_interpreter_has_this_assay_also_where_it_finds_another_first(
    tmp_path, monkeypatch
):
    (tmp_path / "own" / "assay").mkdir(parents=True)
    (tmp_path / "own" / "assay" / "__init__.py").write_text("print('another')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "own"))
    (tmp_path / "own" / "tells.py").write_text("import assay; print(assay.__file__)")

    words = command("tells")
    ran = subprocess.run(words, capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == assay.__file__
