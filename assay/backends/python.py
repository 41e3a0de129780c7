"""Plain Python: a workload that is a callable; one call is one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from assay.backends import options as _options
from assay.core.contracts import Option
from assay.core.errors import UsageError
from assay.core.records import Case, Value
from assay.core.sessions import Job, Session


class CallSession:
    """A callable that returns when its work is done, so `wait` does nothing."""

    def __init__(self, call: Callable[[], Any], case: Case) -> None:
        self.step = self.call = call
        self.items = int(case.params.get("batch_size", 1))
        self._case = case

    def wait(self) -> None:
        pass

    def facts(self) -> Mapping[str, Value]:
        return _options.facts(self._case)


class PythonBackend(msgspec.Struct, frozen=True):
    """No framework: for functions, and for wrappers of other tools."""

    summary: str = "a Python callable, called"
    accepts: frozenset[str] = frozenset({"python"})

    @property
    def options(self) -> Mapping[str, Option]:
        return {
            "threads": _options.THREADS,
            "python": _options.PYTHON,
            "inputs": _options.INPUTS_REPEAT,
        }

    def missing(self) -> str:
        return ""

    def refuses(self, case: Case) -> str:
        return _options.refusal(case)

    def variables(self, case: Case, folder: Path) -> Mapping[str, str]:
        return {}

    @contextmanager
    def open(self, build: Callable[[], Job], case: Case) -> Iterator[Session]:
        call = build().model
        if not callable(call):
            raise UsageError(
                f"{case.workload} gave a {type(call).__name__}, but this backend calls a callable.",
                hint="Return a function: assay calls it again and again, one call a step.",
            )
        yield CallSession(call, case)


PROVIDES = {"python": PythonBackend()}
