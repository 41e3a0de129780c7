"""Tasks → the text of a task file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from assay.logs.files import METRIC_FIELDS, TASK_FIELDS
from assay.logs.task import Metric, Task


def write_toml(tasks: Iterable[Task]) -> str:
    """The text of a task file; settings that have their default are left out."""
    lines: list[str] = []
    for task in tasks:
        lines += [f"[tasks.{_key(task.name)}]"]
        lines += _settings(task, [name for name in TASK_FIELDS if name != "metrics"])
        for metric in task.metrics:
            lines += ["", f"[tasks.{_key(task.name)}.metrics.{_key(metric.name)}]"]
            lines += _settings(metric, METRIC_FIELDS)
        lines += [""]
    return "\n".join(lines)


def _settings(record: Task | Metric, fields: Iterable[str]) -> list[str]:
    usual = {field.name: field.default for field in msgspec.structs.fields(record)}
    pairs = [(name, getattr(record, name)) for name in fields]
    return [
        f"{name} = {_literal(value)}"
        for name, value in pairs
        if value != usual[name] and value not in ("", {}, ())
    ]


def _literal(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str) and "\\" in value and value.isprintable() and "'" not in value:
        return f"'{value}'"  # patterns read best unescaped
    return json.dumps(value)  # a JSON text, number or truth is one of TOML too


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else json.dumps(name)
