"""Files that other tools read: pins, hooks, workflows, templates, citation."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import assay

ROOT = Path(__file__).parent.parent
GITHUB = ROOT / ".github"


def read_yaml(path: Path):
    import yaml

    return yaml.safe_load(path.read_text())


def hook_entries() -> dict[str, str]:
    """Hooks of pre-commit that run in the environment of the user: id → command."""
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    hooks = re.split(r"^ +- id: ", text, flags=re.MULTILINE)[1:]
    return {
        hook.split()[0]: re.search(r"entry: ([^#\n]+)", hook)[1].strip()
        for hook in hooks
        if "language: system" in hook
    }


@pytest.fixture
def checkout(tmp_path):
    """A copy of the sources without `.venv`, and a PATH with ruff, mypy and pytest only."""
    ignore = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "site", "results")
    shutil.copytree(ROOT, tmp_path / "checkout", ignore=ignore)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("ruff", "mypy", "pytest"):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        program.chmod(0o755)
    return tmp_path / "checkout", {"PATH": str(programs), "HOME": str(tmp_path)}


def test_hooks_name_programs_on_the_path():
    assert set(hook_entries()) == {"ruff-format", "ruff", "mypy", "layers"}
    assert {shlex.split(entry)[0] for entry in hook_entries().values()} == {
        *("ruff", "mypy", "pytest")
    }


@pytest.mark.parametrize(
    ("hook", "words"),
    [
        ("ruff-format", ["assay/__init__.py"]),
        ("ruff", ["assay/__init__.py"]),
        ("mypy", ["assay/core/clock.py"]),  # one file: its cache is empty
        ("layers", ["-k", "are_short", "-p", "no:timeout"]),
    ],
)
def test_a_hook_runs_without_a_virtual_environment_of_the_checkout(checkout, hook, words):
    folder, variables = checkout
    command = [*shlex.split(hook_entries()[hook]), *words]

    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout + done.stderr


def test_clang_format_of_the_hook_is_the_pinned_one():
    pin = re.search(r"^clang-format==\S+", (ROOT / "constraints.txt").read_text(), re.MULTILINE)

    assert f"[{pin[0]}]" in (ROOT / ".pre-commit-config.yaml").read_text()


@pytest.mark.real("yaml")
def test_the_citation_has_this_version():
    citation = read_yaml(ROOT / "CITATION.cff")
    day = re.search(
        rf"^## {re.escape(assay.__version__)} \((.+)\)",
        (ROOT / "CHANGELOG.md").read_text(),
        re.MULTILINE,
    )[1]

    assert citation["version"] == assay.__version__
    assert citation["date-released"] == day
    assert {"cff-version", "message", "title", "authors", "license"} <= citation.keys()


@pytest.mark.real("yaml")
@pytest.mark.parametrize(
    "path", sorted(GITHUB.glob("ISSUE_TEMPLATE/[!c]*.yml")), ids=lambda path: path.stem
)
def test_an_issue_form_has_what_github_requires(path):
    form = read_yaml(path)
    fields = [field for field in form["body"] if field["type"] != "markdown"]

    assert form["name"]
    assert form["description"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert all(field["attributes"]["label"] for field in fields)


def test_the_sample_data_has_its_licences():
    text = (ROOT / "tests" / "data" / "LICENSES.md").read_text()
    files = (ROOT / "tests" / "data" / "pictures").rglob("*.npz")

    names = [str(path.relative_to(ROOT / "tests" / "data")) for path in files]
    assert [name for name in names if f"`{name}`" not in text] == []
