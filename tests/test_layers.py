"""Who may import whom: the house's floors, read from the source itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "assay"

# A file imports lower floors and its own folder; at the top are the three that see all of it.
FLOORS = (
    {"core"},
    {"analysis", "views", "formats", "logs", "datasets", "weights", "native"},
    {"workloads", "backends", "monitors", "stores"},
    {"registry"},
    {"worker"},
    {"machine"},
    {"engine"},
    {"platforms"},
    {"verbs"},
    {"compat", "web"},
    {"cli"},
)
FLOOR = {folder: floor for floor, folders in enumerate(FLOORS) for folder in folders}
TOP = {"__init__", "__main__", "testing"}
FRAMEWORKS = {"keras", "torch", "jax", "tensorflow", "onnxruntime", "openvino", "onnx"}
SOURCES = sorted(ROOT.rglob("*.py"))


def folder(path: Path) -> str:
    """The folder that a file lies in, directly below `assay`; the file's own name at the top."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> set[str]:
    """Folders of assay that a file imports from, anywhere in it."""
    found = set()
    for part in ast.walk(tree):
        if isinstance(part, ast.Import):
            found |= {alias.name for alias in part.names}
        elif isinstance(part, ast.ImportFrom) and part.module:
            found |= {f"{part.module}.{alias.name}" for alias in part.names}
    return {name.split(".")[1] for name in found if name.startswith("assay.")} - {"__version__"}


def top_level_imports(tree: ast.Module) -> set[str]:
    found = set()
    for part in tree.body:
        if isinstance(part, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in part.names}
        elif isinstance(part, ast.ImportFrom) and part.module:
            found.add(part.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_imports_lower_floors_and_its_own_folder(path):
    here = folder(path)
    if here in TOP:
        assert len(path.relative_to(ROOT).parts) == 1
        return
    wrong = [there for there in imports(ast.parse(path.read_text())) if not allowed(here, there)]

    assert not wrong, f"{here} may not import {wrong}"


def allowed(here: str, there: str) -> bool:
    return here == there or FLOOR[there] < FLOOR[here]


def test_the_rule_would_catch_a_wrong_import():
    assert not allowed("stores", "monitors")
    assert not allowed("core", "analysis")
    assert allowed("workloads", "datasets")
    assert imports(ast.parse("from assay import registry\nimport assay.commands.run.cli")) == {
        "registry",
        "cli",
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_framework_is_imported_where_a_parent_could_reach_it(path):
    """A file that imports a framework at its top is private to a worker: its name begins with _."""
    loaded = top_level_imports(ast.parse(path.read_text())) & FRAMEWORKS

    assert not loaded or path.name.startswith("_")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_backend_is_named_outside_the_backends(path):
    if folder(path) in {"backends", "compat"}:
        return
    tree = ast.parse(path.read_text())
    compared = [
        text.value
        for part in ast.walk(tree)
        if isinstance(part, ast.Compare)
        for text in ast.walk(part)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    ]

    assert not FRAMEWORKS & {text.removeprefix("keras-") for text in compared}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_or_function_outgrows_the_house_style(path):
    text = path.read_text()
    long = [
        part.name
        for part in ast.walk(ast.parse(text))
        if isinstance(part, ast.FunctionDef) and part.end_lineno - part.lineno > 50
    ]

    assert len(text.splitlines()) <= 300
    assert not long


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_line_prints_or_exits(path):
    if folder(path) in {"cli", "worker"}:
        return
    called = {
        ast.unparse(part.func)
        for part in ast.walk(ast.parse(path.read_text()))
        if isinstance(part, ast.Call)
    }

    assert not called & {"print", "sys.exit", "exit", "eval", "exec"}
