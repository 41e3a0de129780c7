"""Convert arguments of Python callers to those of a plan: functions, single values, texts."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core.errors import UsageError
from assay.core.records import Case, Procedure, Value

Axes = Mapping[str, Value | Sequence[Value]]

_BUILD = (
    "A model goes as assay.case_from_object(model, example=…), or put a function that builds it "
    "into a file."
)


def case_from_callable(thing: object) -> Case:
    """A function or class as the case `FILE:NAME`, which a fresh process can import."""
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
            f"{name} cannot be imported by a fresh process, as it is not at the top of a file.",
            hint="Define it at the top of a file, or give 'FILE.py:NAME'.",
        )
    return Case(workload=f"{_display_path(Path(file))}:{name}", backend="?")


def backend_names(names: str | Sequence[str]) -> Sequence[str]:
    """A name, names separated by commas, or a list."""
    if isinstance(names, str):
        return [name.strip() for name in names.split(",") if name.strip()]
    return tuple(names)


def axes(values: Axes | None, what: str) -> dict[str, Sequence[Value]]:
    """Names with their values; a single one need not be in a list."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise UsageError(
            f"{what} is {values!r}, but has to be a dict.", hint=f'As in: {what}={{"name": 64}}'
        )
    return {name: _values(name, value) for name, value in values.items()}


def procedure(chosen: Procedure | None, parts: Mapping[str, Any]) -> Procedure:
    """A Procedure, or one from its fields, for cases that are not compared."""
    result = Procedure(**parts)
    if chosen is not None:
        if names := _changed_fields(result):
            raise UsageError(
                f"Both procedure and {', '.join(names)} were given.",
                hint=f"Put it into the procedure: Procedure({', '.join(names)}=…).",
            )
        result = chosen
    if result.metric:
        raise UsageError(
            f"metric is '{result.metric}', but here all metrics are measured.",
            hint="assay.ab and assay.race take the metric to compare.",
        )
    return result


def _changed_fields(procedure: Procedure) -> list[str]:
    """Those that differ from their defaults."""
    default = Procedure()
    fields = procedure.__struct_fields__
    return [name for name in fields if getattr(procedure, name) != getattr(default, name)]


def _values(name: str, value: Value | Iterable[Value]) -> Sequence[Value]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        return (value,)
    values = tuple(value)
    if not values:
        raise UsageError(f"{name} has no value.", hint=f'As in: {{"{name}": [1, 2]}}')
    return values


def _display_path(file: Path) -> Path:
    """Relative to the current folder if it is below it."""
    path = file.resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
