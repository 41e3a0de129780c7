"""Docs, changelog, public names and extras agree with the code."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import assay
from assay.cli import main
from assay.native.passes.pipeline import PASSES

ROOT = Path(__file__).parent.parent
DOCS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
CODE = ("assay", "tests", "benchmarks", "tools", "foreign")


def loaded(path: str):
    """A script of the project, as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_changelog_has_this_version_first():
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert versions[0] == assay.__version__


def test_a_release_is_made_of_the_fragments_and_leaves_none(tmp_path):
    for folder in ("changelog.d", "assay"):
        (tmp_path / folder).mkdir()
    (tmp_path / "assay" / "__init__.py").write_text('__version__ = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n")
    (tmp_path / "CITATION.cff").write_text('version: 0.1.0\ndate-released: "2026-01-01"\n')
    fragments = {"10-b.fixed": "Tenth.", "2-a.added": "Second.", "3-c.fixed": "Third."}
    for name, text in {**fragments, "README": "How."}.items():
        (tmp_path / "changelog.d" / f"{name}.md").write_text(text + "\n")

    loaded("tools/release.py").release(tmp_path, "0.2.0", "2026-02-02")

    assert (tmp_path / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n## 0.2.0 (2026-02-02)\n\n### Added\n\n- Second.\n"
        "\n### Fixed\n\n- Third.\n- Tenth.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n"
    )
    assert (tmp_path / "assay" / "__init__.py").read_text() == '__version__ = "0.2.0"\n'
    assert (tmp_path / "CITATION.cff").read_text() == (
        'version: 0.2.0\ndate-released: "2026-02-02"\n'
    )
    assert [file.name for file in (tmp_path / "changelog.d").iterdir()] == ["README.md"]


@pytest.mark.parametrize("name", ["1-a", "1-a.news", "1.md.fixed.old"])
def test_a_fragment_without_a_kind_is_not_released(tmp_path, name):
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / f"{name}.md").write_text("Again.")

    with pytest.raises(SystemExit, match="KIND of added, changed, fixed"):
        loaded("tools/release.py").release(tmp_path, "0.2.0", "2026-02-02")


def test_a_fragment_has_an_issue_a_kind_and_one_entry():
    release = loaded("tools/release.py")
    kinds = "|".join(release.KINDS)
    files = release.fragment_files(ROOT)

    names = [file.name for file in files]
    assert [n for n in names if not re.fullmatch(rf"\d+-[a-z0-9-]+\.({kinds})\.md", n)] == []
    assert [file.name for file in files if len(file.read_text().strip().split("\n\n")) != 1] == []


def test_a_version_is_not_released_twice(tmp_path):
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "1-a.added.md").write_text("Again.")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0 (2026-01-01)\n")

    with pytest.raises(SystemExit, match=r"0\.1\.0 is in the changelog already"):
        loaded("tools/release.py").release(tmp_path, "0.1.0", "2026-02-02")


@pytest.mark.parametrize("folder", ["measure", "worker", "cli"])
def test_every_module_has_a_test_file_of_its_own(folder):
    modules = {file.stem for file in (ROOT / "assay" / folder).glob("[!_]*.py")}
    tested = {file.stem.removeprefix("test_") for file in (ROOT / "tests" / folder).glob("*.py")}

    assert modules - tested == set()


def test_every_command_has_tests_of_its_own():
    tests = ROOT / "tests" / "commands"
    untested = {
        path.stem
        for path in (ROOT / "assay" / "commands").glob("[!_]*")
        if not [*tests.glob(f"{path.stem}/test_*.py"), *tests.glob(f"test_{path.stem}*.py")]
    }

    assert untested == set()


@pytest.mark.parametrize("name", loaded("docs/generate.py").PAGES)
def test_a_generated_page_is_current(name):
    text = loaded("docs/generate.py").PAGES[name]()

    assert _without_order((ROOT / "docs" / name).read_text()) == _without_order(text), (
        "run: make docs"
    )


def _without_order(page: str) -> list[str]:
    """Of a walkthrough: files of each process and what they are, but not by which function and in
    which order they are entered, which most changes of any of these files would change."""
    if "| entered by |" not in page:
        return [page]
    parts = re.sub(r"(?m)^(\| `[\w/.]+` \|) `\w+` ", r"\1", page).split("\n\n")
    return ["\n".join(sorted(part.splitlines())) for part in parts]


def test_every_verb_stands_in_the_written_docs():
    written = " ".join(
        path.read_text() for path in DOCS if path.parent.name not in {"reference", "design"}
    )

    assert [verb for verb in main.COMMANDS if f"assay {verb}" not in written] == []


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


def test_contributing_names_files_and_constants_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = set(re.findall(r"`((?:assay|tests|docs)/[\w/.]+\.(?:py|md))`", text))
    constants = set(re.findall(r"`([A-Z][A-Z_]{3,})` (?:of|in) `(assay/[\w/.]+\.py)`", text))

    assert len(paths) > 10
    assert not {path for path in paths if "NAME" not in path and not (ROOT / path).exists()}
    assert len(constants) > 4
    assert not {
        (name, path)
        for name, path in constants
        if not re.search(rf"^{name}\b", (ROOT / path).read_text(), re.MULTILINE)
    }


def test_design_pages_name_files_that_exist():
    files = {str(file.relative_to(ROOT)) for top in CODE for file in (ROOT / top).rglob("*")}
    named = {
        (page.name, name)
        for page in (ROOT / "docs/design").glob("*.md")
        for name in re.findall(r"`((?:\w+/)+\w+\.(?:py|[ch]pp))`", page.read_text())
        if name.isascii() and "NAME" not in name
    }

    assert len(named) > 30
    assert not {
        (page, name) for page, name in named if not any(f"/{f}".endswith(f"/{name}") for f in files)
    }


def test_the_page_on_the_compiler_lists_the_passes_in_their_order():
    text = (ROOT / "docs/native.md").read_text()
    rows = text.partition("| pass |")[2].partition("\n\n")[0]

    passes = dict.fromkeys(run_pass.__name__ for run_pass in PASSES)
    assert re.findall(r"^\| `(\w+)`", rows, re.MULTILINE) == list(passes)
