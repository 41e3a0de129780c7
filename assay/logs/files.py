"""Task files: TOML, or the INI of the AWS driver; errors name the line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.core.errors import UsageError, unknown_name_error
from assay.core.units import seconds
from assay.logs.aws import aws_names, read_aws
from assay.logs.paths import locate_error, toml_line
from assay.logs.task import FieldError, Metric, Task

_OWN = {"unnamed", "name", "origin", "notes"}  # set by the reader, not in files
TASK_FIELDS = tuple(name for name in Task.__struct_fields__ if name not in _OWN)
METRIC_FIELDS = tuple(name for name in Metric.__struct_fields__ if name != "name")


def read_tasks(path: str | Path) -> dict[str, Task]:
    """All tasks of a file by name; other suffixes than .toml are the AWS driver's INI."""
    text = _text(Path(path))
    return (read_toml if _is_toml(path) else read_aws)(text, str(path))


def find_task(path: str | Path, name: str) -> Task:
    """One task of a file; errors in others are ignored."""
    text = _text(Path(path))
    names = (toml_names if _is_toml(path) else aws_names)(text, str(path))
    if name not in names:
        raise unknown_name_error(f"task in {path}", name, names)
    return (read_toml if _is_toml(path) else read_aws)(text, str(path), name)[name]


def task_names(path: str | Path) -> list[str]:
    """Names of all tasks and metric policies, even with errors."""
    return (toml_names if _is_toml(path) else aws_names)(_text(Path(path)), str(path))


def _is_toml(path: str | Path) -> bool:
    return Path(path).suffix == ".toml"


def _text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The task file {path} cannot be read ({error.strerror}).",
            hint="Give the path of a .toml file, or of a .cfg file of the AWS driver.",
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}, line {line}: byte {data[error.start]:#04x} is no UTF-8.",
            hint="Save the file as UTF-8.",
        ) from None


def read_toml(text: str, origin: str, only: str = "") -> dict[str, Task]:
    tables = _tables(text, origin)
    names = [only] if only else list(tables)
    return {name: _task(name, tables[name], origin, text) for name in names}


def toml_names(text: str, origin: str) -> list[str]:
    return list(_tables(text, origin))


def _tables(text: str, origin: str) -> dict[str, Any]:
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError: a number of 5,000 digits too
        what, _, position = str(error).rpartition(" (at ")
        line = position.removesuffix(")").removeprefix("line ").partition(",")[0]
        where = f", line {line}" if line.isdecimal() else ", at its end"
        raise UsageError(
            f"{origin}{where}: this is not TOML: {what or error}.",
            hint="Quote texts; write patterns between single quotes: 'loss: {number}'.",
        ) from None
    for name in document:
        if name != "tasks":
            raise locate_error(
                origin, toml_line(text, [name]), unknown_name_error("table", name, ["tasks"])
            )
    tasks: dict[str, Any] = document.get("tasks", {})
    _check_type(tasks, dict, "tasks", "a table [tasks.NAME]", at_line=(origin, text, ["tasks"]))
    return tasks


def _task(name: str, table: Any, origin: str, text: str) -> Task:
    path = ["tasks", name]
    _check_type(table, dict, name, "a table", at_line=(origin, text, path))
    metrics = table.get("metrics", {})
    _check_type(metrics, dict, "metrics", "a table", at_line=(origin, text, [*path, "metrics"]))
    metric_records = []
    for metric, settings in metrics.items():
        metric_path = [*path, "metrics", metric]
        if isinstance(settings, str):
            settings = {"pattern": settings}
        _check_type(
            settings, dict, metric, "a table or a pattern", at_line=(origin, text, metric_path)
        )
        record = _make_record(
            Metric, settings | {"name": metric}, METRIC_FIELDS, origin, text, metric_path
        )
        metric_records.append(record)
    plain = {key: value for key, value in table.items() if key != "metrics"}
    if isinstance(plain.get("timeout"), str):
        try:
            plain["timeout"] = seconds(plain["timeout"])
        except UsageError as error:
            raise locate_error(origin, toml_line(text, [*path, "timeout"]), error) from None
    plain |= {"name": name, "origin": origin}
    task: Task = _make_record(Task, plain, TASK_FIELDS, origin, text, path)
    return msgspec.structs.replace(task, metrics=tuple(metric_records))


def _make_record(
    kind: Any,
    settings: Mapping[str, Any],
    fields: Iterable[str],
    origin: str,
    text: str,
    path: list[str],
) -> Any:
    noun = kind.__name__.lower()
    for name in settings:
        if name not in {*fields, *_OWN}:
            raise locate_error(
                origin,
                toml_line(text, [*path, name]),
                unknown_name_error(f"setting of a {noun}", name, fields),
            )
    try:
        return msgspec.convert(settings, kind)
    except FieldError as error:
        raise locate_error(origin, toml_line(text, [*path, error.field]), error) from None
    except msgspec.ValidationError as error:
        what, _, json_path = str(error).partition(" - at `$.")
        field = json_path.rstrip("`").partition("[")[0]
        raise locate_error(
            origin,
            toml_line(text, [*path, field]),
            UsageError(f"{field} of the {noun} '{path[-1]}' is invalid: {what}."),
        ) from None


def _check_type(
    value: object, kind: type, name: str, expected: str, at_line: tuple[str, str, list[str]]
) -> None:
    if not isinstance(value, kind):
        origin, text, path = at_line
        wrong = UsageError(f"'{name}' is {json.dumps(value)}, but has to be {expected}.")
        raise locate_error(origin, toml_line(text, path), wrong)


def write_toml(tasks: Iterable[Task]) -> str:
    """The text of a task file, without settings at their defaults."""
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
    defaults = {field.name: field.default for field in msgspec.structs.fields(record)}
    pairs = [(name, getattr(record, name)) for name in fields]
    return [
        f"{name} = {_literal(value)}"
        for name, value in pairs
        if value != defaults[name] and value not in ("", {}, ())
    ]


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(k)} = {_literal(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str) and "\\" in value and value.isprintable() and "'" not in value:
        return f"'{value}'"  # patterns read best unescaped
    return json.dumps(value)  # JSON strings, numbers and booleans are TOML too


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else json.dumps(name)
