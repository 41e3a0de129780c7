"""A workload from a user's file, `./my.py:MyNet`.

`MyNet` is a model's class, a function that returns a model, a pure function, or a callable for the
plain Python backend; or a class with a method for each framework; or a benchmark class. The file is
parsed here, not run: it may import a framework, which only workers do.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core import phases
from assay.core.errors import UsageError, unknown_name_error
from assay.core.files import user_path
from assay.core.loading import load_user_file
from assay.core.records import Value
from assay.core.sessions import Builder, Job
from assay.workloads.user._inspect import (
    MODELS,
    PLAIN,
    Definition,
    DefinitionInfo,
    inspect_definition,
)
from assay.workloads.user.benchmark_class import BenchmarkClass, benchmark_class, is_benchmark

BATCH_SIZE = 32  # default of models; a plain function handles one item per call


class FileWorkload(msgspec.Struct, frozen=True):
    """A definition in a user's file; its model is only known in a worker."""

    path: Path
    name: str
    definition: DefinitionInfo
    params: Mapping[str, Value]
    version: str = "1"

    @property
    def summary(self) -> str:
        return self.definition.summary

    @property
    def source(self) -> str:
        return str(self.path)

    @property
    def inference_only(self) -> str:
        pure = self.definition.making == "itself" and self.definition.kinds != PLAIN
        return f"{self.name} is a function without parameters to train" if pure else ""

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {kind: self._builder(kind) for kind in self.definition.kinds}

    def _builder(self, kind: str) -> Builder:
        def build(**params: Value) -> Job:
            from assay.workloads.user import model

            module = _module(self.path)
            maker: Any = getattr(module, self.name)
            if self.definition.making == "itself":
                return model.job(model.Bare(maker, maker, module, kind, params, itself=True))
            method = getattr(maker(), kind) if self.definition.making == "methods" else maker
            thing = method(**model.arguments(method, kind, params))
            if isinstance(thing, Job):
                return thing
            bare = model.Bare(thing, maker, module, kind, params)
            return model.job(bare) if kind in MODELS else Job(model=thing)

        return build


def from_file(text: str) -> FileWorkload | BenchmarkClass:
    """Read `FILE.py:NAME`: parameters are the arguments that have a default."""
    file, _, name = text.rpartition(":")
    path = user_path(file).resolve()
    tree = _tree(path, file)
    definitions: dict[str, Definition] = {
        part.name: part for part in tree.body if isinstance(part, ast.FunctionDef | ast.ClassDef)
    }
    if name not in definitions:
        raise unknown_name_error(f"function or class in {file}", name, definitions)
    chosen = definitions[name]
    if isinstance(chosen, ast.ClassDef) and is_benchmark(chosen, tree):
        return benchmark_class(path, tree, chosen, _module)
    definition = inspect_definition(chosen, tree, file)
    params = {"batch_size": _batch_size(definition), "seed": 0, **definition.params}
    return FileWorkload(path=path, name=name, definition=definition, params=params)


def _batch_size(definition: DefinitionInfo) -> int:
    """0: that of the example."""
    if definition.kinds == PLAIN:
        return 1
    return 0 if definition.example == "value" and set(definition.kinds) <= MODELS else BATCH_SIZE


def _tree(path: Path, file: str) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"The file {file} cannot be read ({error.strerror}).",
            hint="Give the path of a Python file, as in ./my.py:MyNet.",
        ) from None
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{file} is not Python ({error}).", hint="Fix it first.") from None


def _module(path: Path) -> Any:
    if str(path.parent) not in sys.path:  # for imports of files beside it, with lowest priority
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    with load_user_file(str(path)), phases.during("import"):
        spec.loader.exec_module(module)
    return module
