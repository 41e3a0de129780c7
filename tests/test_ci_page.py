"""The workflows of docs/ci.md: they are YAML, and their commands do what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytestmark = pytest.mark.real("yaml")
ROOT = Path(__file__).parent.parent
GITHUB, GITLAB = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text(), re.DOTALL)


def commands(steps) -> list[str]:
    """The commands of assay, in order."""
    texts = [
        step["run"] if isinstance(step, dict) else step for step in steps if "uses" not in step
    ]
    return [text for text in texts if text.startswith("assay ")]


def parsed(text: str):
    import yaml

    return yaml.safe_load(text)


def git(folder: Path, *words: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *name, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A clone whose branch has one commit more than origin/main."""
    origin, clone = tmp_path / "origin", tmp_path / "clone"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    write(origin, 2)
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "first")
    git(tmp_path, "clone", "-q", str(origin), str(clone))
    git(clone, "checkout", "-qb", "branch")
    return clone


def write(folder: Path, milliseconds: float) -> None:
    text = f"import time\n\n\ndef work():\n    return lambda: time.sleep({milliseconds} / 1000)\n"
    (folder / "bench.py").write_text(text)


def shell(folder: Path, command: str) -> int:
    """As a runner does it, with `assay` on its path."""
    bin_folder = folder.parent / "bin"
    bin_folder.mkdir(exist_ok=True)
    script = bin_folder / "assay"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m assay "$@"\n')
    script.chmod(0o755)
    world = os.environ | {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "ASSAY_HOME": str(folder.parent / "home"),
        "GITHUB_STEP_SUMMARY": str(folder.parent / "summary.md"),
    }
    return subprocess.run(["sh", "-c", command], cwd=folder, env=world, check=False).returncode


def test_the_github_workflow_fails_on_a_commit_that_is_twice_as_slow(checkout):
    measure, check = commands(parsed(GITHUB)["jobs"]["check"]["steps"])
    assert shell(checkout, measure) == 0  # as on main
    write(checkout, 4)
    git(checkout, "commit", "-qam", "slower")

    assert shell(checkout, measure) == 0
    assert shell(checkout, check) == 5

    summary = (checkout.parent / "summary.md").read_text()
    assert summary.startswith("### 1 regression confirmed")


def test_the_gitlab_job_passes_on_a_commit_that_changes_nothing(checkout):
    measure, check = commands(parsed(GITLAB)["performance"]["script"])
    assert shell(checkout, measure) == 0
    git(checkout, "commit", "-q", "--allow-empty", "-m", "nothing")

    assert shell(checkout, measure) == 0
    assert shell(checkout, check) == 0

    assert ET.parse(checkout / "check.xml").getroot().get("failures") == "0"
