"""What a Python caller gives, in the forms that a plan takes: functions, single values, texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.core.records import Case, Procedure, Value

Axes = Mapping[str, Value | Sequence[Value]]

_BUILD = (
    "A model goes as assay.live(model, example=…), or put a function that builds it into a file."
)


def named(thing: object) -> Case:
    """A function or class of a file as the case `FILE:NAME`, which a fresh process can find."""
    if isinstance(thing, list | tuple | set):
        raise UsageError(
            f"A {type(thing).__name__} was given as one case.",
            hint="Give cases one by one: assay.run(*cases).",
        )
    name = getattr(thing, "__qualname__", "")
    if not name or not callable(thing):
        what = f"An object of the class {type(thing).__name__}"
        raise UsageError(f"{what} is no case.", hint=_BUILD)
    module = sys.modules.get(getattr(thing, "__module__", None) or "")
    file = getattr(module, "__file__", None) or ""
    if not file.endswith(".py") or getattr(module, name, None) is not thing:
        raise UsageError(
            f"{name} cannot be found again by a fresh process, as it is not at the top of a file.",
            hint="Define it in a file, and give it, or 'FILE.py:NAME'.",
        )
    return Case(workload=f"{_short(Path(file))}:{name}", backend="?")


def backend_names(given: str | Sequence[str]) -> Sequence[str]:
    """One name, several by commas, or a list."""
    if isinstance(given, str):
        return [name.strip() for name in given.split(",") if name.strip()]
    return tuple(given)


def axes(given: Axes | None, what: str) -> dict[str, Sequence[Value]]:
    """Names with their values; a single one need not be in a list."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UsageError(
            f"{what} is {given!r}, but has to be a dict.", hint=f'As in: {what}={{"name": 64}}'
        )
    return {name: _values(name, value) for name, value in given.items()}


def procedure(chosen: Procedure | None, parts: Mapping[str, Any]) -> Procedure:
    """A procedure given whole, or by its parts, of cases that are not compared."""
    if chosen is not None and parts:
        raise UsageError(
            f"Both procedure and {', '.join(parts)} were given.",
            hint=f"Put it into the procedure: Procedure({', '.join(parts)}=…).",
        )
    found = Procedure(**parts) if chosen is None else chosen
    if found.metric:
        raise UsageError(
            f"metric is '{found.metric}', but everything there is to measure is measured.",
            hint="assay.ab and assay.race take the metric that they compare.",
        )
    return found


def _values(name: str, given: Value | Iterable[Value]) -> Sequence[Value]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        return (given,)
    found = tuple(given)
    if not found:
        raise UsageError(f"{name} has no value.", hint=f'As in: {{"{name}": [1, 2]}}')
    return found


def _short(file: Path) -> Path:
    """As one would type it: from here, where it lies below."""
    whole = file.resolve()
    return whole.relative_to(Path.cwd()) if whole.is_relative_to(Path.cwd()) else whole
