"""The project's own papers are true: docs, changelog, public names, extras."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import assay
from assay import cli

ROOT = Path(__file__).parent.parent
DOCS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])


def generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_changelog_has_this_version_first():
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert versions[0] in {assay.__version__, f"{assay.__version__}-unreleased"}


def test_the_generated_pages_are_current():
    for name, text in generator().pages().items():
        assert (ROOT / "docs" / "reference" / name).read_text() == text, "run: make docs"


def test_every_verb_stands_in_the_written_docs():
    written = " ".join(
        path.read_text() for path in DOCS if path.parent.name not in {"reference", "design"}
    )

    assert [verb for verb in cli.VERBS if f"assay {verb}" not in written] == []


def test_public_names_are_sorted_and_there():
    assert assay.__all__ == sorted(assay.__all__)
    assert all(hasattr(assay, name) for name in assay.__all__)


def test_every_dependency_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    names = {re.match(r"[A-Za-z0-9-]+", text)[0] for text in wanted}
    reasons = (ROOT / "docs" / "design" / "dependencies.md").read_text()

    assert [name for name in names if f"`{name}`" not in reasons] == []


@pytest.mark.parametrize("path", DOCS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(path):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text())

    assert [link for link in links if not (path.parent / link).exists()] == []
