"""Plug-ins by name: built-in ones by folder, external ones by entry point.

A direct child of `assay/workloads`, `assay/backends`, `assay/monitors`, `assay/stores` or
`assay/formats` (`NAME.py` or `NAME/__init__.py`) lists its plug-ins in a dict `PROVIDES`; deeper
files are loaded only when used, so a parent process never loads a framework. The folder itself may
have `resolve(name)` for names that no dict can list. An external package names an object in the
entry-point group `assay.workloads` or the like.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

from assay.core import settings
from assay.core.contracts import Backend, Monitor, Store, Workload
from assay.core.errors import AssayError, UsageError, unknown_name_error
from assay.core.formats import Format
from assay.core.settings import Home

Kind = Literal["workloads", "backends", "monitors", "stores", "formats"]

_CONTRACTS: dict[Kind, Any] = {
    "workloads": Workload,
    "backends": Backend,
    "monitors": Monitor,
    "stores": Store,
    "formats": Format,
}


def workload(name: str) -> Workload:
    """A workload by name, a user's `./my.py:MyNet`, a model file (an object's too), or a hub's."""
    plugin: Workload = _get("workloads", name)
    return plugin


def backend(name: str) -> Backend:
    plugin: Backend = _get("backends", name)
    return plugin


def monitor(name: str) -> Callable[[], Monitor]:
    """Factory of a monitor."""
    plugin: Callable[[], Monitor] = _get("monitors", name)
    return plugin


def open_store(home: Home = None) -> Store:
    """The store at `NAME://PLACE`; a plain path is a folder with an SQLite index."""
    location = settings.place(home)
    name, mark, rest = location.partition("://")
    store: Store = _get("stores", name)(rest) if mark else _get("stores", "sqlite")(location)
    return store


def file_format(name: str) -> Format:
    """A format of result files by name."""
    plugin: Format = _get("formats", name)
    return plugin


def names(kind: Kind) -> tuple[str, ...]:
    return tuple(sorted({**_built_in(kind), **dict(_third_party_targets(kind))}))


def all_plugins(kind: Kind) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Plug-ins by name, and error messages of those that cannot be loaded."""
    plugins, problems = dict(_built_in(kind)), []
    for name, target in _third_party_targets(kind).items():
        try:
            plugins[name] = _load(kind, name, target)
        except AssayError as error:
            problems.append(f"{error} {error.hint}")
    return dict(sorted(plugins.items())), tuple(problems)


def _get(kind: Kind, name: str) -> Any:
    resolve = getattr(importlib.import_module(f"assay.{kind}"), "resolve", None)
    if resolve and (thing := resolve(name)) is not None:
        return thing
    built_in = _built_in(kind)
    if name in built_in:
        return built_in[name]
    outsiders = _third_party_targets(kind)  # last, because it reads a file of every package
    if name in outsiders:
        return _load(kind, name, outsiders[name])
    raise unknown_name_error(kind.removesuffix("s"), name, [*built_in, *outsiders])


@cache
def _built_in(kind: Kind) -> dict[str, Any]:
    plugins: dict[str, Any] = {}
    folder = Path(__file__).parents[1] / kind
    names = {file.stem for file in folder.glob("[!_]*.py")}
    names |= {file.parent.name for file in folder.glob("*/__init__.py")}
    for stem in sorted(names):
        module = importlib.import_module(f"assay.{kind}.{stem}")
        for name, thing in getattr(module, "PROVIDES", {}).items():
            plugins[name] = _check_contract(kind, name, thing, module.__name__)
    return plugins


@cache
def _third_party_targets(kind: Kind) -> dict[str, str]:
    """Entry points of other packages: name → `module:object`, not loaded."""
    return {name: target for group, name, target in _entry_points() if group == f"assay.{kind}"}


def _load(kind: Kind, name: str, target: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        thing = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"The package that offers '{name}' in assay.{kind} cannot be loaded ({error}).",
            hint=f"Reinstall or remove the package that holds {target}.",
        ) from None
    return _check_contract(kind, name, thing, target)


def _check_contract(kind: Kind, name: str, thing: object, origin: str) -> object:
    """Raise where a plug-in has missing members."""
    contract = _CONTRACTS[kind]
    members = [part for part in vars(contract) if not part.startswith("_")]
    offers = dir(thing)  # not hasattr, which would evaluate properties of every backend
    missing = sorted(part for part in members if part not in offers)
    if missing:
        raise UsageError(
            f"'{name}' from {origin} is no {kind.removesuffix('s')}: missing {', '.join(missing)}.",
            hint=f"assay.core.contracts.{contract.__name__} says what each must offer.",
        )
    return thing


@cache
def _entry_points() -> tuple[tuple[str, str, str], ...]:
    """Groups that begin with `assay.`. importlib.metadata would cost each start 35 ms."""
    return tuple(
        (group, name, target)
        for folder in dict.fromkeys(sys.path)
        for file in _entry_point_files(folder or ".")
        for group, name, target in _read_entry_points(file)
        if group.startswith("assay.")
    )


def _entry_point_files(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".dist-info", ".egg-info")):
                    yield os.path.join(entry.path, "entry_points.txt")
    except OSError:
        return


def _read_entry_points(file: str) -> Iterator[tuple[str, str, str]]:
    try:
        with open(file, encoding="utf-8") as lines:
            text = lines.read()
    except OSError:
        return
    group = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            group = line.strip("[]")
        elif "=" in line and not line.startswith("#"):
            name, _, target = line.partition("=")
            yield group, name.strip(), target.split("[")[0].strip()


def backends_for(workload: Workload) -> tuple[str, ...]:
    """Names of backends that can open a workload, installed or not."""
    kinds = set(workload.kinds)
    return tuple(name for name in names("backends") if backend(name).accepts & kinds)
