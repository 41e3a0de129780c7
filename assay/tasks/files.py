"""Task files: our own TOML, or the INI of the AWS driver, checked to the line."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from assay.errors import UsageError, unknown
from assay.tasks.aws import read_aws
from assay.tasks.places import at, toml_line
from assay.tasks.task import FieldError, Metric, Task
from assay.units import seconds

_OWN = {"name", "origin", "notes"}  # set by the reader, never written in a file
TASK_FIELDS = tuple(name for name in Task.__struct_fields__ if name not in _OWN)
METRIC_FIELDS = tuple(name for name in Metric.__struct_fields__ if name != "name")


def read_tasks(path: str | Path) -> dict[str, Task]:
    """Every task of a file, by name. `.toml` is ours, everything else the AWS driver's INI."""
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"The task file {path} cannot be read ({error.strerror}).",
            hint="Give the path of a .toml file, or of a .cfg file of the AWS driver.",
        ) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}, line {line}: byte {data[error.start]:#04x} is no UTF-8.",
            hint="Save the file as UTF-8.",
        ) from None
    return (read_toml if path.suffix == ".toml" else read_aws)(text, str(path))


def find_task(path: str | Path, name: str) -> Task:
    tasks = read_tasks(path)
    if name not in tasks:
        raise unknown(f"task in {path}", name, tasks)
    return tasks[name]


def read_toml(text: str, origin: str) -> dict[str, Task]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).rpartition(" (at ")
        line = place.removesuffix(")").removeprefix("line ").partition(",")[0]
        where = f", line {line}" if line.isdecimal() else ", at its end"
        raise UsageError(
            f"{origin}{where}: this is not TOML: {what or error}.",
            hint="Quote texts; write patterns between single quotes: 'loss: {number}'.",
        ) from None
    for name in document:
        if name != "tasks":
            raise at(origin, toml_line(text, [name]), unknown("table", name, ["tasks"]))
    tasks = document.get("tasks", {})
    _expect(tasks, dict, "tasks", "a table [tasks.NAME]", at_line=(origin, text, ["tasks"]))
    return {name: _task(name, table, origin, text) for name, table in tasks.items()}


def _task(name: str, table: Any, origin: str, text: str) -> Task:  # noqa: ANN401 (any TOML value)
    path = ["tasks", name]
    _expect(table, dict, name, "a table", at_line=(origin, text, path))
    metrics = table.get("metrics", {})
    _expect(metrics, dict, "metrics", "a table", at_line=(origin, text, [*path, "metrics"]))
    found = []
    for metric, settings in metrics.items():
        place = [*path, "metrics", metric]
        if isinstance(settings, str):
            settings = {"pattern": settings}
        _expect(settings, dict, metric, "a table or a pattern", at_line=(origin, text, place))
        made = _made(Metric, settings | {"name": metric}, METRIC_FIELDS, origin, text, place)
        found.append(made)
    plain = {key: value for key, value in table.items() if key != "metrics"}
    if isinstance(plain.get("timeout"), str):
        try:
            plain["timeout"] = seconds(plain["timeout"])
        except UsageError as error:
            raise at(origin, toml_line(text, [*path, "timeout"]), error) from None
    plain |= {"name": name, "origin": origin}
    task: Task = _made(Task, plain, TASK_FIELDS, origin, text, path)
    return msgspec.structs.replace(task, metrics=tuple(found))


def _made(
    kind: Any,  # noqa: ANN401 (Metric or Task)
    settings: Mapping[str, Any],
    fields: Iterable[str],
    origin: str,
    text: str,
    path: list[str],
) -> Any:  # noqa: ANN401
    noun = kind.__name__.lower()
    for name in settings:
        if name not in {*fields, *_OWN}:
            raise at(
                origin,
                toml_line(text, [*path, name]),
                unknown(f"setting of a {noun}", name, fields),
            )
    try:
        return msgspec.convert(settings, kind)
    except FieldError as error:
        raise at(origin, toml_line(text, [*path, error.field]), error) from None
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$.")
        field = place.rstrip("`").partition("[")[0]
        raise at(
            origin,
            toml_line(text, [*path, field]),
            UsageError(f"{field} of the {noun} '{path[-1]}' is not right: {what}."),
        ) from None


def _expect(
    value: object, kind: type, name: str, wanted: str, at_line: tuple[str, str, list[str]]
) -> None:
    if not isinstance(value, kind):
        origin, text, path = at_line
        wrong = UsageError(f"'{name}' is {json.dumps(value)}, but has to be {wanted}.")
        raise at(origin, toml_line(text, path), wrong)
