"""Run a script that was written for HPVM and Keras 2: its imports are provided here.

`python -m assay.compat.hpvm.script BENCH.py WORD…` is what `assay hpvm BENCH.py` starts; the
distribution assay-hpvm calls `provide` when such a script is run by Python itself.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import runpy
import sys
import traceback
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

from assay.core.errors import AssayError, UsageError

# A module that scripts import → the module that has its names.
PROVIDED = {
    "Benchmark": "assay.compat.hpvm.benchmark",
    "Config": "assay.compat.hpvm.model_params",
    "keras_frontend": "assay.compat.hpvm",
    "keras_frontend.approxhpvm_translator": "assay.native.hpvm.frontend",
    "keras_frontend.weight_utils": "assay.compat.hpvm.weight_utils",
}
UNUSED = ("tensorflow", "scipy", "scipy.io")  # imported by HPVM's scripts, but not used


def is_for_hpvm(path: Path) -> bool:
    """Whether a script was written for HPVM: it calls exportToHPVM, or imports keras_frontend."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "exportToHPVM":
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("keras_frontend"):
            return True
    return False


def provide() -> None:
    """Provide HPVM's modules and the names of Keras 2 in this process, and plain errors."""
    from assay.compat.hpvm.keras_2 import add_names

    sys.meta_path.insert(0, _Finder())
    sys.excepthook = _print_error
    if "keras" in sys.modules:
        add_names(sys.modules["keras"])


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in PROVIDED:
            return importlib.util.spec_from_loader(
                name, _Names(PROVIDED[name]), is_package=name == "keras_frontend"
            )
        if name == "keras":
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            if spec and spec.loader:
                spec.loader = _KerasLoader(spec.loader)
            return spec
        if name in UNUSED and not _is_installed(name, path):
            return importlib.util.spec_from_loader(name, _Missing(), is_package=True)
        return None


def _is_installed(name: str, path: Sequence[str] | None) -> bool:
    return importlib.machinery.PathFinder.find_spec(name, path) is not None


class _Names(importlib.abc.Loader):
    """A module with the names of another one."""

    def __init__(self, source: str) -> None:
        self._source = source

    def exec_module(self, module: types.ModuleType) -> None:
        source = vars(importlib.import_module(self._source))
        vars(module).update({name: source[name] for name in source.keys() - vars(module).keys()})


class _Missing(importlib.abc.Loader):
    """A module that is not installed: only a use of it fails."""

    def exec_module(self, module: types.ModuleType) -> None:
        def missing(attribute: str) -> object:
            if attribute.startswith("__"):
                raise AttributeError(attribute)
            raise UsageError(
                f"{module.__name__}.{attribute} is used, but {module.__name__} is not installed.",
                hint=f"pip install {module.__name__.partition('.')[0]}",
            )

        vars(module)["__getattr__"] = missing


class _KerasLoader(importlib.abc.Loader):
    """Keras with the names of Keras 2."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        from assay.compat.hpvm.keras_2 import add_names

        self._loader.exec_module(module)
        add_names(module)


def error_text(error: BaseException) -> str:
    """The sentence for an error that a script of HPVM is to expect; "" for any other."""
    if isinstance(error, AssayError):
        return f"error: {error}" + (f"\nhint:  {error.hint}" if error.hint else "")
    where = traceback.extract_tb(error.__traceback__)
    lines = [frame for frame in where if frame.filename == sys.argv[0]]
    place = f" (line {lines[-1].lineno} of {Path(sys.argv[0]).name})" if lines else ""
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "keras":
        name = error.msg.rpartition("import name ")[2].partition(" ")[0].strip("'")
        what = error.name if isinstance(error, ModuleNotFoundError) else f"{error.name}.{name}"
        return f"error: {what} is imported{place}; neither Keras 3 nor assay's layer has it."
    if isinstance(error, ImportError):
        return f"error: {error.name} is imported{place}, but it cannot be: {error.msg}."
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"error: {error.filename} is missing{place}.\nhint:  assay data fetch model_params"
    return ""


def _print_error(
    kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
) -> None:
    if text := error_text(error):
        print(text, file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def run_script(path: Path, words: Sequence[str]) -> int:
    """Run it as Python would, with what it imports provided; its exit status."""
    provide()
    sys.argv = [str(path), *words]
    sys.path.insert(0, str(path.parent.absolute()))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else int(bool(ending.code))
    except Exception as error:
        if not (text := error_text(error)):
            raise
        print(text, file=sys.stderr)
        return error.status if isinstance(error, AssayError) else 1
    return 0


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    sys.exit(run_script(Path(sys.argv[1]), sys.argv[2:]))
