"""The rules of docs/design/architecture.md, checked in the source."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import assay
from assay.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "assay"
PAGE = (ROOT / "docs" / "design" / "architecture.md").read_text()
SOURCES = sorted(PACKAGE.rglob("*.py"))
TOP = {"__init__", "__main__", "testing"}
FRAMEWORKS = {"keras", "torch", "jax", "tensorflow", "onnxruntime", "openvino", "onnx"}


def block(name: str) -> list[str]:
    """Lines of a block of the page, without comments."""
    text = re.search(rf"^```{name}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert text, f"the page has no block {name}"
    return [line.partition("#")[0].strip() for line in text[1].splitlines() if line.strip()]


LAYER = {name: int(line.split()[0]) for line in block("layers") for name in line.split()[1:]}
SLICES = {
    name: set(others.split())
    for name, _, others in (line.partition(":") for line in block("slices"))
}
# module or file → why it is an exception
EXCEPTIONS = {
    kind: dict(
        (part.strip() for part in line.split("|", 1)) for line in block(f"exceptions {kind}")
    )
    for kind in ("framework", "import_module", "command name", "print", "backend name")
}


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module(path) for path in SOURCES}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def calls(path: Path) -> tuple[str, ...]:
    """Functions that a file calls, as written there."""
    return tuple(ast.unparse(node.func) for node in nodes(path) if isinstance(node, ast.Call))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(tree(path)))


def violations(rule: Callable[[Path], object]) -> dict[str, object]:
    """File → what it breaks a rule with; files that keep it are not in it."""
    wrong = {str(path.relative_to(PACKAGE)): rule(path) for path in SOURCES}
    return {file: names for file, names in wrong.items() if names}


def is_exception(path: Path, kind: str) -> bool:
    return str(path.relative_to(PACKAGE)).startswith(tuple(EXCEPTIONS[kind]))


def imports(part: ast.AST) -> set[str]:
    """Modules of assay that a piece of source imports, anywhere in it."""
    names = set()
    for node in ast.walk(part):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in MODULES else node.module for name in full}
    return {name for name in names if name.partition(".")[0] == "assay" and name != "assay"}


def folder(name: str) -> str:
    """Of a module of assay: its top folder, or its own name at the top."""
    return name.split(".")[1]


def slice_of(name: str) -> str:
    """Of a module below `commands`: the command."""
    return name.split(".")[2].rstrip("_") if name.count(".") > 1 else ""


def may_import(importer: str, imported: str) -> bool:
    if importer == "assay":  # for type checkers; at run time a name is imported when it is used
        return True
    here, there = folder(importer), folder(imported)
    if here in TOP:
        return True
    if here == there == "commands":
        first, second = slice_of(importer), slice_of(imported)
        return first == second or second in SLICES.get(first, set())
    return here == there or LAYER[there] < LAYER[here]


def test_a_file_imports_lower_layers_and_its_own_folder():
    assert not violations(
        lambda path: [name for name in imports(tree(path)) if not may_import(module(path), name)]
    )


def test_the_layers_are_the_folders():
    folders = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}

    assert set(LAYER) == folders
    assert {path.stem for path in PACKAGE.glob("*.py")} == TOP


def test_slices_that_import_others_have_no_cycle():
    assert not cycle(SLICES)


def test_the_rules_catch_a_wrong_import():
    assert not may_import("assay.stores.sqlite", "assay.monitors.gpu")
    assert not may_import("assay.core.units", "assay.stats.student")
    assert not may_import("assay.commands.ab.api", "assay.commands.check.api")
    assert may_import("assay.commands.check.api", "assay.commands.ab.api")
    assert may_import("assay.workloads.net.nets", "assay.datasets.dataset")
    assert imports(ast.parse("from assay.core import registry\nimport assay.cli.main")) == {
        "assay.core.registry",
        "assay.cli.main",
    }


def test_a_private_module_is_imported_from_its_own_folder_only():
    def private_imports(path: Path) -> list[str]:
        here = module(path.parent / "x.py")
        private = [name for name in imports(tree(path)) if name.rpartition(".")[2].startswith("_")]
        return [name for name in private if not here.startswith(name.rpartition(".")[0])]

    assert not violations(private_imports)


def test_files_are_short():
    assert not violations(lambda path: len(path.read_text().splitlines()) > 400)


def test_functions_are_short():
    def long_functions(path: Path) -> list[str]:
        functions = [node for node in nodes(path) if isinstance(node, ast.FunctionDef)]
        return [each.name for each in functions if each.end_lineno - each.body[0].lineno > 50]

    assert not violations(long_functions)


def frameworks_of(path: Path) -> set[str]:
    """Frameworks that a file imports when it is imported."""
    loaded = set()
    for part in tree(path).body:
        if isinstance(part, ast.Import):
            loaded |= {alias.name.partition(".")[0] for alias in part.names}
        elif isinstance(part, ast.ImportFrom) and part.module:
            loaded.add(part.module.partition(".")[0])
    return loaded & FRAMEWORKS


def test_a_file_that_imports_a_framework_is_named_after_it():
    """So a parent process loads none by accident: the registry loads no such file."""

    def others(path: Path) -> set[str]:
        relative = str(path.relative_to(PACKAGE))
        listed = [
            set(names.split())
            for prefix, names in EXCEPTIONS["framework"].items()
            if relative.startswith(prefix)
        ]
        return frameworks_of(path) - set(re.split(r"[/_.]", relative)).union(*listed)

    assert not violations(others)


def test_no_backend_is_named_outside_the_backends():
    def backend_names(path: Path) -> set[str]:
        compared = {
            text.value.removeprefix("keras-")
            for part in nodes(path)
            if isinstance(part, ast.Compare)
            for text in ast.walk(part)
            if isinstance(text, ast.Constant) and isinstance(text.value, str)
        }
        return set() if is_exception(path, "backend name") else FRAMEWORKS & compared

    assert not violations(backend_names)


def test_only_the_terminal_and_workers_print_or_exit():
    def output_names(path: Path) -> set[str]:
        modules = {
            alias.name
            for part in nodes(path)
            if isinstance(part, ast.Import)
            for alias in part.names
        }
        wrong = {"print", "sys.exit", "exit"}.intersection(calls(path)) | ({"click"} & modules)
        return set() if is_exception(path, "print") else wrong

    assert not violations(output_names)


def test_nothing_is_evaluated_from_text():
    assert not violations(lambda path: {"eval", "exec"}.intersection(calls(path)))


def test_modules_are_imported_by_name_in_few_places():
    names = violations(lambda path: any(name.endswith("import_module") for name in calls(path)))

    assert names.keys() <= EXCEPTIONS["import_module"].keys()


def test_the_rules_report_files_that_break_them():
    assert violations(lambda path: path == PACKAGE / "__main__.py") == {"__main__.py": True}


def test_no_two_classes_have_one_name():
    """But for the base that HPVM's own classes derive from: that name is HPVM's."""
    names = Counter(
        part.name
        for path in SOURCES
        for part in ast.walk(tree(path))
        if isinstance(part, ast.ClassDef)
    )

    assert [name for name, count in names.items() if count > 1] == ["Benchmark"]


def test_a_command_lies_in_one_place():
    stems = {verb.replace("-", "_") for verb in COMMANDS} | {f"{verb}_" for verb in COMMANDS}
    elsewhere = {
        relative
        for path in SOURCES
        for relative in [str(path.relative_to(PACKAGE))]
        if (path.parent.name if path.name == "__init__.py" else path.stem) in stems
        and not relative.startswith(("commands/", "web/pages/"))
    }

    assert elsewhere == set(EXCEPTIONS["command name"])


def test_no_folder_has_the_name_of_a_public_function():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}

    assert not folders & set(assay.__all__)


def test_no_file_of_core_has_the_name_of_a_module_of_python():
    """core/start.py runs as a script, so its folder is searched first until it is taken out."""
    stems = {path.stem for path in (PACKAGE / "core").glob("*.py")}

    assert not stems & sys.stdlib_module_names


def test_worker_and_measure_share_the_messages():
    importers = {
        folder(module(path)) for path in SOURCES if "assay.core.messages" in imports(tree(path))
    }

    assert importers >= {"worker", "measure"}


def test_the_registry_loads_direct_children_of_a_plug_in_folder():
    """So a deeper file that offered plug-ins would be missed."""
    kinds = {"workloads", "backends", "monitors", "stores", "formats"}
    offering = {
        module(path)
        for path in SOURCES
        for part in tree(path).body
        if isinstance(part, ast.Assign | ast.AnnAssign)
        and "PROVIDES" in ast.unparse(part).partition("=")[0]
    }

    assert {name.split(".")[1] for name in offering} == kinds
    assert all(name.count(".") == 2 for name in offering)


def test_a_command_is_a_folder_or_a_short_file():
    folders = [path for path in (PACKAGE / "commands").iterdir() if (path / "__init__.py").exists()]
    files = [path for path in (PACKAGE / "commands").glob("*.py") if path.stem != "__init__"]

    assert folders
    assert all((path / "api.py").exists() and (path / "cli.py").exists() for path in folders)
    assert all(len(path.read_text().splitlines()) <= 300 for path in files)


def test_every_rule_names_its_test():
    rules = re.search(r"^## Rules\n(.*?)^## ", PAGE, re.DOTALL | re.MULTILINE)[1]
    rows = [line for line in rules.splitlines() if line.startswith("| ")][1:]
    named = [re.search(r"\| `(test_\w+)` \|$", row) for row in rows]

    assert rows
    assert all(named)
    assert {match[1] for match in named} <= globals().keys()


def test_every_exception_is_needed():
    """A line whose file is gone, or needs it no longer, is deleted."""
    listed = [(kind, name) for kind, names in EXCEPTIONS.items() for name in names]

    assert not [(kind, name) for kind, name in listed if not (PACKAGE / name).exists()]
    assert set(EXCEPTIONS["import_module"]) == {
        str(path.relative_to(PACKAGE))
        for path in SOURCES
        for part in ast.walk(tree(path))
        if isinstance(part, ast.Call) and ast.unparse(part.func).endswith("import_module")
    }


def loaded_with(path: Path) -> set[str]:
    """Modules of assay that a file imports when it is imported, not inside a function nor for type
    checkers only."""
    parts = [part for part in tree(path).body if isinstance(part, ast.Import | ast.ImportFrom)]
    return imports(ast.Module(parts, [])) & MODULES - {module(path)}


def cycle(graph: dict[str, set[str]]) -> set[str]:
    """Modules that import each other, and those that import them."""
    left = dict(graph)
    while free := [name for name, others in left.items() if not others & left.keys()]:
        for name in free:
            del left[name]
    return set(left)


def test_no_modules_import_each_other_while_they_are_loaded():
    """As measure.heat does: it imports measure.case, where HeatEntry is."""
    graph = {module(path): loaded_with(path) for path in SOURCES}

    assert "assay.measure.case" in graph["assay.measure.heat"]
    assert not cycle(graph)


def test_a_cycle_is_seen():
    assert cycle({"a": {"b"}, "b": {"a"}, "c": set()}) == {"a", "b"}
