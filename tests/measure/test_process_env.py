"""A worker's world: the interpreter it is started with, and the variables it sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay.core.errors import EndingError
from assay.core.records import Case
from assay.measure import process_env
from assay.measure.process_env import interpreter, variables


def case(**options):
    return Case(workload="w", backend="python", options=options)


def environment(folder, **modules):
    """A virtual environment with nothing in it but these modules, each with its text."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (inside,) = folder.glob("lib/python*/site-packages")
    for name, text in modules.items():
        (inside / f"{name}.py").write_text(text)
    return folder


def test_without_a_choice_it_is_the_interpreter_of_assay_itself(tmp_path):
    found = interpreter(case(), tmp_path, "assay.worker.bench")

    assert (found[0], found[-1]) == (sys.executable, "assay.worker.bench")


def test_a_folder_stands_for_the_interpreter_of_its_environment(tmp_path):
    chosen = environment(tmp_path / "venv", msgspec="")

    found = interpreter(case(python=str(chosen)), tmp_path)

    assert found[0] == str(chosen / "bin" / "python")


def test_a_foreign_interpreter_borrows_assay_and_nothing_else_of_ours(tmp_path):
    tells = "import assay, importlib.util as u\nprint(assay.__file__, u.find_spec('numpy'))\n"
    chosen = environment(tmp_path / "venv", msgspec="", tells=tells)

    command = interpreter(case(python=str(chosen)), tmp_path, "tells")
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)

    borrowed, numpy = ran.stdout.split()
    assert Path(borrowed).resolve() == Path(assay.__file__).resolve()
    assert numpy == "None"


@pytest.mark.parametrize(
    ("make", "status", "reason"),
    [
        (lambda path: None, "skipped", "there is no Python interpreter at {path}"),
        (lambda path: path.touch(0o644), "skipped", "there is no Python interpreter at {path}"),
        (lambda path: path.touch(0o755), "failed", "{path} did not start: Exec format error"),
    ],
)
def test_what_is_no_interpreter_ends_the_case_in_words(tmp_path, make, status, reason):
    path = tmp_path / "python"
    make(path)

    with pytest.raises(EndingError) as ended:
        interpreter(case(python=str(path)), tmp_path)

    assert ended.value.status == status
    assert ended.value.reason == reason.format(path=path)


def test_an_environment_without_what_the_worker_needs_is_skipped_in_words(tmp_path):
    chosen = environment(tmp_path / "venv")

    with pytest.raises(EndingError) as ended:
        interpreter(case(python=str(chosen)), tmp_path)

    assert ended.value.status == "skipped"
    assert ended.value.reason.startswith(f"in {chosen}/bin/python, msgspec is not installed")


def test_an_interpreter_that_hangs_ends_the_case_too(tmp_path, monkeypatch):
    def hang(words, timeout, **_):
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr(process_env.subprocess, "run", hang)

    with pytest.raises(EndingError):
        interpreter(case(python=sys.executable), tmp_path)


def test_threads_are_told_to_openmp_where_they_are_chosen(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    assert variables(case(threads=3), tmp_path)["OMP_NUM_THREADS"] == "3"
    assert "OMP_NUM_THREADS" not in variables(case(threads="all"), tmp_path)


def test_a_worker_learns_the_home_folder_its_run_is_kept_in(tmp_path):
    kept = variables(case(), tmp_path / "elsewhere" / "runs" / "20261115" / "001")

    assert kept["ASSAY_HOME"] == str(tmp_path / "elsewhere")
    assert "ASSAY_HOME" not in variables(case(), tmp_path / "nowhere")
