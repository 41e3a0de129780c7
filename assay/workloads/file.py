"""A workload from a user's file, `./my.py:MyNet`: a function that returns a model, or a class.

The file is read here, not run: it may import a framework, and only a worker does that.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.contracts import Builder, Job
from assay.errors import UsageError, unknown
from assay.records import Value

KINDS = ("keras", "torch", "jax", "tensorflow")
_ALWAYS: dict[str, Value] = {"batch_size": 32, "seed": 0}


@dataclass(frozen=True)
class FileWorkload:
    """A name in a user's file; what it makes is known when a worker has run it."""

    path: Path
    name: str
    summary: str
    params: Mapping[str, Value]
    making: tuple[str, ...]  # kinds it is made for; a plain function may return any kind
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


def from_file(text: str) -> FileWorkload:
    """Read `FILE.py:NAME`: parameters are the arguments that have a default."""
    file, _, name = text.rpartition(":")
    path = Path(file).expanduser().resolve()
    definitions = _definitions(path, file)
    if name not in definitions:
        raise unknown(f"function or class in {file}", name, definitions)
    found = definitions[name]
    if isinstance(found, ast.ClassDef):
        methods = {part.name: part for part in found.body if isinstance(part, ast.FunctionDef)}
        making = tuple(kind for kind in KINDS if kind in methods)
        functions = [methods[kind] for kind in making]
        if not making:
            raise UsageError(
                f"{name} in {file} has none of the methods {', '.join(KINDS)}.",
                hint="Add the one that builds your model, as in: def keras(self, units=64): …",
            )
    else:
        making, functions = KINDS, [found]
    params = {key: value for function in functions for key, value in _defaults(function).items()}
    return FileWorkload(
        path=path,
        name=name,
        summary=(ast.get_docstring(found) or "a model of your own").splitlines()[0],
        params=_ALWAYS | params,
        making=making,
    )


def _definitions(path: Path, file: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    try:
        tree = ast.parse(path.read_bytes())
    except OSError as error:
        raise UsageError(
            f"The file {file} cannot be read ({error.strerror}).",
            hint="Give the path of a Python file, as in ./my.py:MyNet.",
        ) from None
    except SyntaxError as error:
        raise UsageError(
            f"{file} is not Python: {error.msg} in line {error.lineno}.", hint="Mend it first."
        ) from None
    return {
        part.name: part for part in tree.body if isinstance(part, ast.FunctionDef | ast.ClassDef)
    }


def _defaults(function: ast.FunctionDef) -> dict[str, Value]:
    """Arguments whose default is a plain value."""
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
    sys.path.insert(0, str(path.parent))  # so that it finds its neighbours
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
