"""Lines that install assay name its distribution and its extras, in docs, hints and workflows."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest

from assay.backends.options import missing_reason
from assay.commands.schedule.timers import Scheduled, files

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAME, EXTRAS = PROJECT["name"], PROJECT["optional-dependencies"].keys()
FOLDERS = ("assay", "benchmarks", "docs", "examples", "foreign", "tools", ".github")
KINDS = {".py", ".md", ".toml", ".yml", ".yaml", ".ipynb"}
TEXTS = [
    *(path for path in ROOT.glob("*") if path.suffix in {".md", ".toml", ".cff"}),
    *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in KINDS),
]
INSTALL = re.compile(r"pip install\s+(?P<words>[^`\"#\n]*)")
# The import name where a distribution is meant: with an extra, with a version, or as what pip gets.
WRONG = re.compile(r"(?<![\w./-])assay(\[\w|==)|pip install (-\S+ )*['\"]?assay(?![-\w])")


def wrong_names(text: str) -> list[str]:
    return [match[0] for match in WRONG.finditer(text)]


def extras(text: str) -> set[str]:
    """Extras that install lines of a text ask for: of the distribution or of a checkout."""
    groups = re.findall(rf"(?<=['` ])(?:{NAME}|\.)\[([a-z0-9,]+)\]", text)
    return {name for group in groups for name in group.split(",")}


def test_no_line_installs_another_project():
    wrong = {str(path.relative_to(ROOT)): wrong_names(path.read_text()) for path in TEXTS}

    assert {file: lines for file, lines in wrong.items() if lines} == {}


def test_every_extra_that_is_named_exists():
    unknown = {
        str(path.relative_to(ROOT)): names
        for path in TEXTS
        if path.name != "CHANGELOG.md" and (names := extras(path.read_text()) - EXTRAS)
    }

    assert unknown == {}


def test_every_hint_names_the_distribution():
    hints = [
        words
        for path in (ROOT / "assay").rglob("*.py")
        for words in re.findall(r"pip install '([^']+)'", path.read_text())
    ]

    assert len(hints) > 15
    assert [words for words in hints if not words.startswith(f"{NAME}[")] == []


def test_every_line_that_installs_extras_can_be_pasted():
    lines = [match["words"] for path in TEXTS for match in INSTALL.finditer(path.read_text())]
    unquoted = [line for line in lines if re.search(r"(?<!['\w.-])(\.|[\w-]+)\[", line)]

    assert unquoted == []


def test_a_hint_is_one_line_that_a_shell_splits_as_meant():
    reason = missing_reason(("no_such_module",), "jax")

    assert shlex.split(reason.partition(": ")[2]) == ["pip", "install", f"{NAME}[jax]"]


def test_a_scheduled_workflow_installs_the_distribution():
    plan = Scheduled(
        name="n", every="night", hour=2, minute=3, command=(), folder="/", plan="p.toml"
    )
    ((_, text),) = files("github-actions", plan).items()

    assert f"pip install {NAME}\n" in text


def test_the_package_of_hpvms_names_depends_on_the_distribution():
    project = tomllib.loads((ROOT / "foreign" / "hpvm" / "pyproject.toml").read_text())["project"]

    assert NAME in project["dependencies"]


@pytest.mark.parametrize(
    "text",
    [
        "pip install assay",
        "pip install 'assay[jax]'",
        "pip install -U assay",
        "the extra `assay[hpvm]`",
        "assay==0.2.0",
    ],
)
def test_the_rule_reports_the_import_name(text):
    assert wrong_names(text)
    assert not wrong_names(text.replace("assay", NAME))
