"""A worker of f7cfc39 serves this tree, and a worker of this tree serves f7cfc39."""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
COMMIT = "f7cfc39"
# Which assay its worker has, is printed into the worker's log.
CASE = '''"""A case whose worker says which assay it has."""

import assay


def add():
    print("assay of the worker:", assay.__file__)
    return lambda: sum(range(20_000))
'''


@pytest.fixture(scope="module")
def old_tree(tmp_path_factory):
    """The files of assay at that commit."""
    words = ["git", "-C", str(ROOT), "archive", COMMIT, "assay"]
    try:
        archive = subprocess.run(words, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs git")
    if archive.returncode:
        pytest.skip(f"not applicable: this clone does not have the commit {COMMIT}")
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.fixture(params=["worker of f7cfc39", "parent of f7cfc39"])
def trees(request, old_tree):
    """The tree of the parent and that of its workers."""
    return (ROOT, old_tree) if request.param.startswith("worker") else (old_tree, ROOT)


def interpreter(folder, tree):
    """An interpreter that finds assay in this tree."""
    script = folder / "python-of-tree"
    variables = f'PYTHONSAFEPATH=1 PYTHONPATH="{tree}"'
    script.write_text(f'#!/bin/sh\n{variables} exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return script


def call(folder, tree, *words):
    """The command line of a tree, in a process of its own."""
    variables = os.environ | {"PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}
    return subprocess.run(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_ends_well(tmp_path, home, trees):
    parent, child = trees
    (tmp_path / "case.py").write_text(CASE)
    case = f"case.py:add@python:python={interpreter(tmp_path, child)}"

    ran = call(tmp_path, parent, "run", case, "--samples", "5", "--processes", "2")

    (result,) = home.glob("runs/*/001/result.json")
    kept = json.loads(result.read_bytes())
    assert ran.returncode == 0, ran.stderr
    assert (kept["status"], kept["reason"]) == ("ok", "")
    steady = [part for part in kept["samples"] if part["phase"] == "steady"]
    assert [len(part["values"]) for part in steady] == [5, 5]
    (log,) = home.glob("runs/*/001/worker.log")
    assert set(log.read_text().splitlines()) == {f"assay of the worker: {child}/assay/__init__.py"}


def test_a_pair_of_an_old_and_a_new_worker_is_compared(tmp_path, home, old_tree):
    for name, tree in {"old": old_tree, "new": ROOT}.items():
        (tmp_path / name / "bin").mkdir(parents=True)
        interpreter(tmp_path, tree).rename(tmp_path / name / "bin" / "python")
    (tmp_path / "case.py").write_text(CASE)
    words = ("--python", "old", "--python", "new", "--pairs", "1", "--budget", "3s")

    ran = call(tmp_path, ROOT, "ab", "case.py:add@python", *words)

    results = [json.loads(path.read_bytes()) for path in home.glob("runs/*/*/result.json")]
    assert ran.returncode in (0, 6), ran.stderr
    assert [one["status"] for one in results] == ["ok", "ok"]


def test_a_failure_is_told_across_versions(tmp_path, home, trees):
    parent, child = trees
    shutil.copy(Path(__file__).parent / "data" / "cases.py", tmp_path)
    case = f"cases.py:raises@python:python={interpreter(tmp_path, child)}"

    ran = call(tmp_path, parent, "run", case, "--samples", "5")

    (result,) = home.glob("runs/*/001/result.json")
    kept = json.loads(result.read_bytes())
    assert ran.returncode == 1
    assert (kept["status"], kept["reason"]) == ("failed", "ValueError: no good")


@pytest.mark.real("jax")
def test_a_comparison_of_commits_starts_the_worker_of_each(tmp_path, old_tree):
    case = "mnist-mlp:batch_size=8,units=16,hidden=1@jax"
    words = ("--commit", COMMIT, "--commit", ".", "--pairs", "1", "--budget", "3s")

    ran = call(tmp_path, ROOT, "ab", case, *words, "--format", "json")

    assert ran.returncode in (0, 6), ran.stderr
    assert json.loads(ran.stdout)["failures"] == []
