"""The AWS deep-learning benchmark driver's task file, an INI with Python lists in it."""

from __future__ import annotations

import ast
import configparser
import re
import warnings
from collections.abc import Mapping

from assay.core.errors import UsageError
from assay.logs.overrides import needs_shell
from assay.logs.paths import blank_other_sections, ini_line, locate_error
from assay.logs.task import FieldError, Metric, Task

_FIELDS = {
    "pattern": "patterns",
    "compute": "compute_method",
}  # field of a metric → option of the file
_PERCENT = re.compile(r"%%|%\((\w+)\)s")
_LISTS = ("patterns", "metrics", "compute_method")


def result_key(task: str, metric: str, framework: str = "", suffix: str = "") -> str:
    """Name of a metric in the old result file: `[framework.]task.metric[.suffix]`."""
    return ".".join(part for part in (framework, task, metric, suffix) if part)


def read_aws(text: str, origin: str, only: str = "") -> dict[str, Task]:
    """Every section as a task, or only one; one without a command is a metric policy."""
    parser = _parse(
        blank_other_sections(text, only, aws_names(text, origin)) if only else text, origin
    )
    return {
        name: _Section(name, _interpolate(dict(parser[name])), text, origin).task()
        for name in ([only] if only else parser.sections())
    }


def aws_names(text: str, origin: str) -> list[str]:
    """Section names, even if sections have errors."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text, origin)
    except configparser.MissingSectionHeaderError as error:
        raise _format_error(origin, error.lineno, "no [section] stands before it") from None
    except configparser.ParsingError:  # unreadable lines belong to a section
        pass
    return parser.sections()


def _parse(text: str, origin: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    try:
        parser.read_string(text, origin)
    except configparser.MissingSectionHeaderError as error:
        raise _format_error(origin, error.lineno, "no [section] stands before it") from None
    except configparser.ParsingError as error:
        raise _format_error(
            origin, error.errors[0][0], f"'{error.errors[0][1]}' has no ="
        ) from None
    except configparser.DuplicateSectionError as error:
        raise _format_error(
            origin, error.lineno or 0, f"there already is a section [{error.section}]"
        ) from None
    except configparser.DuplicateOptionError as error:
        raise _format_error(
            origin, error.lineno or 0, f"[{error.section}] already has {error.option}"
        ) from None
    return parser


def _format_error(origin: str, line: int, what: str) -> UsageError:
    return locate_error(
        origin,
        line,
        UsageError(
            f"this is no task file of the AWS driver: {what}.",
            hint="A section is [NAME] and lines such as patterns = ['loss: (.*)'].",
        ),
    )


def _interpolate(options: Mapping[str, str]) -> dict[str, str]:
    """Expand `%(name)s` and `%%` like ConfigParser; any other % is literal."""

    def fill(match: re.Match[str]) -> str:
        return "%" if match[0] == "%%" else options.get(match[1].lower(), match[0])

    return {name: _PERCENT.sub(fill, value) for name, value in options.items()}


class _Section:
    """Converts a section to a task."""

    def __init__(self, name: str, options: Mapping[str, str], text: str, origin: str) -> None:
        self._name, self._options, self._text, self._origin = name, options, text, origin

    def task(self) -> Task:
        metrics, notes = self._metrics()
        command = self._options.get("command_to_execute", "").strip()
        try:
            return Task(
                name=self._name,
                command=command,
                shell=needs_shell(command),
                num_gpus=self._num_gpus(),
                metrics=metrics,
                origin=self._origin,
                notes=notes,
            )
        except FieldError as error:
            raise self._wrong(error.field, error) from None

    def _metrics(self) -> tuple[tuple[Metric, ...], tuple[str, ...]]:
        patterns, names, methods = (self._list(option) for option in _LISTS)
        if not len(patterns) == len(names) == len(methods):
            raise self._wrong(
                "patterns",
                UsageError(
                    f"[{self._name}] has {len(patterns)} patterns, {len(names)} metrics and "
                    f"{len(methods)} compute methods, but needs as many of each.",
                    hint="They are matched by order.",
                ),
            )
        unique, notes = _unique(names)
        rows = zip(unique, patterns, methods, strict=True)
        return tuple(self._metric(*row) for row in rows), notes

    def _metric(self, name: str, pattern: str, method: str) -> Metric:
        try:
            return Metric(name=name, pattern=pattern, compute=method)
        except FieldError as error:
            option = _FIELDS.get(error.field, "patterns")
            raise self._wrong(option, error, pattern if option == "patterns" else method) from None

    def _list(self, option: str) -> list[str]:
        written = self._options.get(option, "[]")
        try:
            with warnings.catch_warnings():  # '\d' is no escape and stays as it is
                warnings.simplefilter("ignore")
                items = ast.literal_eval(written.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            items = None
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise self._wrong(
                option,
                UsageError(
                    f"{option} of [{self._name}] is no Python list of texts.",
                    hint=f"Write {option} = ['…', '…'].",
                ),
            )
        return items

    def _num_gpus(self) -> int:
        written = self._options.get("num_gpus", "0").strip()
        if not (written.isascii() and written.isdecimal() and len(written) < 10):
            wrong = f"num_gpus of [{self._name}] is '{written}', but has to be an integer."
            raise self._wrong("num_gpus", UsageError(wrong))
        return int(written)

    def _wrong(self, option: str, error: UsageError, item: str = "") -> UsageError:
        return locate_error(self._origin, ini_line(self._text, self._name, option, item), error)


def _unique(names: list[str]) -> tuple[list[str], tuple[str, ...]]:
    """Make names unique: the last of equal names keeps it, as in the old result file."""
    unique: list[str] = []
    for index, name in enumerate(names):
        number = names[:index].count(name) + 1
        unique.append(f"{name}#{number}" if name in names[index + 1 :] else name)
    notes = tuple(
        f"the metric '{name}' occurs more than once: the last keeps the name, "
        f"the others are {name}#1 and so on"
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    )
    return unique, notes
