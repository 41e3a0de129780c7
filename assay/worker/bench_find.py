"""Find benchmark methods in classes, without creating objects. In a child process only."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType

from assay.core.errors import EndingError, unknown_name_error
from assay.formats.perfzero.messages import FindMethods, FoundMethods
from assay.formats.perfzero.names import Filter, Method
from assay.worker.protocol import failure

_BASES = ("tensorflow.", "assay.formats.", "unittest.", "builtins")  # not the user's code


def find(request: FindMethods) -> FoundMethods:
    names: dict[str, str] = {}
    problems: dict[str, str] = {}
    for pattern in request.filters:
        names |= dict(_filter_methods(pattern))
    for package in request.packages:
        for name in _modules(package):
            try:
                names |= dict(_module_methods(module_of(name)))
            except Exception as error:  # a user's module may raise anything; it is reported
                problems[name] = failure(error).reason
    return FoundMethods(names=names, problems=problems)


def class_of(method: Method) -> type:
    """The class of a method; an error names the wrong part of its name."""
    module = module_of(method.module)
    if not hasattr(module, method.owner):
        classes = [name for name, thing in vars(module).items() if isinstance(thing, type)]
        raise unknown_name_error(f"class in module {method.module}", method.owner, classes)
    owner = getattr(module, method.owner)
    if not isinstance(owner, type):
        raise EndingError("failed", f"{method.module}.{method.owner} is no class")
    return owner


def module_of(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise EndingError(
                "failed",
                f"there is no module '{missing}', needed for '{name}'; a folder given with "
                "--python_path is searched too",
            ) from error
        reason = f"module '{name}' needs '{missing}', which is not installed"
        raise EndingError("failed", reason) from error


def _filter_methods(pattern: Filter) -> Iterator[tuple[str, str]]:
    owner = class_of(Method(pattern.module, pattern.owner, ""))
    for name in methods(owner):
        if pattern.matches(name):
            yield Method(pattern.module, pattern.owner, name).name, _line(getattr(owner, name))


def _modules(package: str) -> Iterator[str]:
    """The module and, if it is a package, all modules in it."""
    below = getattr(module_of(package), "__path__", ())
    yield package
    for info in pkgutil.walk_packages(below, f"{package}.", onerror=lambda name: None):
        if not info.name.endswith("__main__"):
            yield info.name


def _module_methods(module: ModuleType) -> Iterator[tuple[str, str]]:
    for name, thing in vars(module).items():
        if isinstance(thing, type) and thing.__module__ == module.__name__:
            for method in methods(thing):
                if method.startswith("benchmark"):
                    yield Method(module.__name__, name, method).name, _line(getattr(thing, method))


def methods(owner: type) -> list[str]:
    """Callables that the user's classes define, sorted; without those of a framework's base."""
    return [name for name in dir(owner) if not name.startswith("__") and _is_method(owner, name)]


def _is_method(owner: type, name: str) -> bool:
    thing = getattr(owner, name, None)
    if not callable(thing) or isinstance(thing, type):
        return False
    home = next((base for base in owner.__mro__ if name in vars(base)), owner)
    return not f"{home.__module__}.".startswith(_BASES)


def _line(method: object) -> str:
    return (getattr(method, "__doc__", None) or "").strip().partition("\n")[0]
