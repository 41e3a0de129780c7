"""A workload from a user's file, `./my.py:MyNet`.

`MyNet` is a function that returns a model, or a callable for the plain Python backend; or a class
with a method for each framework it is made for; or a benchmark class. The file is read here, not
run: it may import a framework, and only a worker does that.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError, unknown
from assay.core.files import user_path
from assay.core.loading import loading
from assay.core.records import Value
from assay.core.sessions import Builder, Job
from assay.workloads.user._benchmark_class import BenchmarkClass, benchmark_class, is_benchmark

KINDS = ("keras", "torch", "jax", "tensorflow", "python")
BATCH_SIZE = 32  # of a model that does not name its own; a plain function handles one item a call


class FileWorkload(msgspec.Struct, frozen=True):
    """A name in a user's file; what it makes is known when a worker has run it."""

    path: Path
    name: str
    summary: str
    params: Mapping[str, Value]
    making: tuple[str, ...]  # kinds it is made for
    version: str = "1"

    @property
    def source(self) -> str:
        return str(self.path)

    @property
    def kinds(self) -> Mapping[str, Builder]:
        return {kind: self._builder(kind) for kind in self.making}

    def _builder(self, kind: str) -> Builder:
        def build(**params: Value) -> Job:
            maker: Any = getattr(_module(self.path), self.name)
            if isinstance(maker, type):
                maker = getattr(maker(), kind)
            made = maker(**{key: params[key] for key in _arguments(maker) if key in params})
            return made if isinstance(made, Job) else Job(model=made)

        return build


def from_file(text: str) -> FileWorkload | BenchmarkClass:
    """Read `FILE.py:NAME`: parameters are the arguments that have a default."""
    file, _, name = text.rpartition(":")
    path = user_path(file).resolve()
    tree = _tree(path, file)
    definitions = {
        part.name: part for part in tree.body if isinstance(part, ast.FunctionDef | ast.ClassDef)
    }
    if name not in definitions:
        raise unknown(f"function or class in {file}", name, definitions)
    found = definitions[name]
    if isinstance(found, ast.ClassDef) and is_benchmark(found, tree):
        return benchmark_class(path, tree, found, _module)
    makers = _methods(found, file) if isinstance(found, ast.ClassDef) else {}
    making = tuple(makers) or _imported(tree)
    size = 1 if making == ("python",) else BATCH_SIZE
    params: dict[str, Value] = {"batch_size": size, "seed": 0}
    for function in makers.values() or [found]:
        params |= _defaults(function)
    return FileWorkload(
        path=path,
        name=name,
        summary=(ast.get_docstring(found) or "a workload of your own").splitlines()[0],
        params=params,
        making=making,
    )


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


def _methods(found: ast.ClassDef, file: str) -> dict[str, ast.FunctionDef]:
    """The methods of a class that each build it for one framework."""
    methods = {part.name: part for part in found.body if isinstance(part, ast.FunctionDef)}
    makers = {kind: methods[kind] for kind in KINDS if kind in methods}
    if not makers:
        raise UsageError(
            f"{found.name} in {file} has none of the methods {', '.join(KINDS)}.",
            hint="Add the one that builds your model, as in: def keras(self, units=64): …",
        )
    return makers


def _imported(tree: ast.Module) -> tuple[str, ...]:
    """What a plain function is made for: the frameworks its file imports, else plain Python."""
    modules = {
        name.partition(".")[0]
        for part in ast.walk(tree)
        for name in (
            [alias.name for alias in part.names]
            if isinstance(part, ast.Import)
            else [part.module or ""]
            if isinstance(part, ast.ImportFrom)
            else []
        )
    }
    return tuple(kind for kind in KINDS if kind in modules) or ("python",)


def _defaults(function: ast.FunctionDef | ast.ClassDef) -> dict[str, Value]:
    """Arguments whose default is a plain value."""
    assert isinstance(function, ast.FunctionDef)
    arguments = [*function.args.posonlyargs, *function.args.args]
    pairs = list(zip(reversed(arguments), reversed(function.args.defaults), strict=False))[::-1]
    pairs += [
        (argument, default)
        for argument, default in zip(
            function.args.kwonlyargs, function.args.kw_defaults, strict=True
        )
        if default is not None
    ]
    return {
        argument.arg: default.value
        for argument, default in pairs
        if isinstance(default, ast.Constant) and isinstance(default.value, str | int | float)
    }


def _arguments(maker: Any) -> tuple[str, ...]:  # noqa: ANN401 (any callable)
    import inspect

    return tuple(inspect.signature(maker).parameters)


def _module(path: Path) -> Any:  # noqa: ANN401
    if str(path.parent) not in sys.path:  # so that it finds its neighbours, behind everything else
        sys.path.append(str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    with loading(str(path)):
        spec.loader.exec_module(module)
    return module
