"""Who may import whom: the house's floors, read from the source itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "assay"

LEVELS = {
    0: {
        *("errors", "units", "records", "findings", "checkup", "published", "redaction"),
        "recipe",
    },
    1: {"contracts", "codec", "registry", "protocol", "unpack", "wire"},
    2: {
        *("workloads", "backends", "datasets", "monitors", "stores", "formats", "views"),
        *("analysis", "native", "platforms", "tasks", "weights", "benches", "traces"),
    },
    3: {
        *("settings", "environment", "plan", "measure", "schedule", "worker", "launch", "child"),
        *("world", "logs", "childside", "batchsize", "doctor", "testing", "evaluation"),
        *("capturing", "captureside"),
        *("benchrun", "benchchild", "benchfind", "benchlook", "benchkeep", "checkout", "obtain"),
        *("devices", "machine", "noise", "peaks", "watcher", "program", "taskrun", "benchwindows"),
        *("together", "visits", "heat", "contenders", "pairing", "story", "course"),
    },
    4: {
        *("api", "benching", "comparing", "evaluating", "profiling", "racing", "studying"),
        *("tasking", "training", "exporting", "compiling"),
    },
    5: {"cli", "web", "compat"},
}
LEVEL = {room: level for level, rooms in LEVELS.items() for room in rooms}
DOORS = {("workloads", "datasets"), ("backends", "native"), ("registry", "backends")}
DOORS |= {("workloads", "weights"), ("backends", "weights")}
DOORS |= {("registry", "workloads"), ("cli", "compat")}  # loads what it registers, by name
SHOWING = {
    "api",
    "benching",
    "evaluating",
    "comparing",
    "racing",
    "exporting",
    "compiling",
    "profiling",
    "studying",
    "benches",
    "tasking",
    "training",
    "tasks",
    "records",
    "findings",
    "errors",
    "units",
    "formats",
    "views",
}
SHOWING |= {
    "contracts",
    "codec",
    "registry",
    "schedule",
    "settings",
}  # queries, JSON, names, progress
FRAMEWORKS = {"keras", "torch", "jax", "tensorflow", "onnxruntime", "openvino", "onnx"}
SOURCES = sorted(ROOT.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(tree: ast.AST) -> set[str]:
    """Rooms of assay that a file imports, anywhere in it."""
    found = set()
    for part in ast.walk(tree):
        if isinstance(part, ast.Import):
            found |= {alias.name for alias in part.names}
        elif isinstance(part, ast.ImportFrom) and part.module:
            found |= {f"{part.module}.{alias.name}" for alias in part.names}
    return {name.split(".")[1] for name in found if name.startswith("assay.") and "." in name}


def top_level_imports(tree: ast.Module) -> set[str]:
    found = set()
    for part in tree.body:
        if isinstance(part, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in part.names}
        elif isinstance(part, ast.ImportFrom) and part.module:
            found.add(part.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_room_imports_only_what_lies_below(path):
    here = room(path)
    if here == "__init__":
        return
    wrong = [
        there
        for there in imports(ast.parse(path.read_text())) - {here, "__version__"}
        if not allowed(here, there)
    ]

    assert not wrong, f"{here} may not import {wrong}"


def allowed(here: str, there: str) -> bool:
    if (here, there) in DOORS:
        return True
    if LEVEL[here] == 5:
        return there in SHOWING
    if LEVEL[here] == 2:
        return LEVEL[there] < LEVEL[here]
    return LEVEL[there] <= LEVEL[here]


def test_the_rule_would_catch_a_wrong_import():
    assert not allowed("stores", "views")
    assert not allowed("records", "codec")
    assert not allowed("cli", "stores")
    assert allowed("workloads", "datasets")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_framework_is_imported_where_a_parent_could_reach_it(path):
    """A file that imports a framework at its top is private to a worker: its name begins with _."""
    loaded = top_level_imports(ast.parse(path.read_text())) & FRAMEWORKS

    assert not loaded or path.name.startswith("_")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_backend_is_named_outside_the_backends(path):
    if room(path) in {"backends", "compat"}:
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
    if room(path) in {"cli", "worker"}:
        return
    called = {
        ast.unparse(part.func)
        for part in ast.walk(ast.parse(path.read_text()))
        if isinstance(part, ast.Call)
    }

    assert not called & {"print", "sys.exit", "exit", "eval", "exec"}
