"""A task: a command and the metrics its log holds. A metric policy is a task without a command."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.core.errors import UsageError, unknown_name_error
from assay.logs.compute import METHODS
from assay.logs.patterns import compile_pattern

Direction = Literal["", "higher", "lower"]
SOURCES = ("pattern", "key", "json", "mllog")


class FieldError(UsageError):
    """An invalid field; a reader of files adds the line."""

    def __init__(self, field: str, sentence: str, hint: str = "") -> None:
        super().__init__(sentence, hint)
        self.field = field


class Metric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of a log: source of its values and how they are reduced."""

    name: str
    pattern: str = ""  # a regular expression,
    key: str = ""  # or the name before = or :,
    json: str = ""  # or a dotted path in JSON lines,
    mllog: str = ""  # or a key of :::MLLOG lines
    compute: str = "last"
    unit: str = ""
    direction: Direction = ""  # which is better
    min: float | None = None  # bounds of the computed value
    max: float | None = None
    skip: int = 0  # first values left out
    closing: str = ""  # pattern of the mean that the program prints itself

    def __post_init__(self) -> None:
        sources = [source for source in SOURCES if getattr(self, source)]
        if len(sources) != 1:
            raise FieldError(
                sources[1] if sources else "",
                f"The metric '{self.name}' has {' and '.join(sources) or 'no source'}, "
                "but needs exactly one source.",
                hint=f"Give one of {', '.join(SOURCES)}.",
            )
        if self.compute not in METHODS:
            wrong = unknown_name_error("compute method", self.compute, METHODS)
            raise FieldError("compute", str(wrong), wrong.hint)
        for field in ("pattern", "closing"):
            try:
                compile_pattern(getattr(self, field))
            except UsageError as error:
                sentence = f"In the metric '{self.name}': {error}"
                raise FieldError(field, sentence, error.hint) from None
        self._check_limits()

    def _check_limits(self) -> None:
        if self.skip < 0:
            raise FieldError(
                "skip",
                f"skip of the metric '{self.name}' is {self.skip}, but has to be 0 or more.",
                hint="It is the number of first values to skip.",
            )
        if self.min is not None and self.max is not None and self.min > self.max:
            raise FieldError(
                "min",
                f"min of the metric '{self.name}' is {self.min}, above its max {self.max}.",
                hint="Swap them.",
            )


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A command to run and what to read from its log."""

    name: str
    description: str = ""
    command: str | tuple[str, ...] = ""  # a tuple is not split; "": a metric policy
    shell: bool = False
    directory: str = ""  # relative to the task's file
    environment: dict[str, str] = {}
    timeout: float = 0.0  # seconds; 0: the procedure's
    repeats: int = 1
    num_gpus: int = 0
    metrics: tuple[Metric, ...] = ()
    origin: str = ""  # the file it was read from
    notes: tuple[str, ...] = ()  # from the reader
    unnamed: bool = False  # its cases are named by the whole command

    def __post_init__(self) -> None:
        for field, minimum in (("repeats", 1), ("timeout", 0), ("num_gpus", 0)):
            if getattr(self, field) < minimum:
                raise FieldError(
                    field,
                    f"{field} of the task '{self.name}' is {getattr(self, field)}, "
                    f"but has to be {minimum} or more.",
                )
        if self.shell and not isinstance(self.command, str):
            raise FieldError(
                "shell",
                f"The task '{self.name}' has a list of arguments for a shell.",
                hint="Write the command as one text, or remove shell.",
            )
