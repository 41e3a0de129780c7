"""A framework used by itself: what the three pure backends share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path

import msgspec

from assay.backends import _options, _profilers
from assay.contracts import Job, Option, Session
from assay.records import Case, Value


class FrameworkBackend(msgspec.Struct, frozen=True, kw_only=True):
    """One framework, without Keras. Its session is in `_NAME_session.py`, loaded in the worker."""

    name: str
    summary: str
    own: Mapping[str, Option] = {}  # beside those all have
    refusal: Callable[[Case], str] = lambda case: ""

    @property
    def for_evaluation(self) -> Mapping[str, Value]:
        """Options an evaluation takes where none are chosen."""
        return {"mode": "infer"}

    @property
    def accepts(self) -> frozenset[str]:
        return frozenset({self.name})

    @property
    def options(self) -> Mapping[str, Option]:
        return {**_options.COMMON, **self.own}

    def missing(self) -> str:
        return _options.lacking(("numpy", self.name), self.name)

    def refuses(self, case: Case) -> str:
        return _options.refused(case) or self.refusal(case)

    def world(self, case: Case, folder: Path) -> Mapping[str, str]:
        return _options.device_variables(case)

    @contextmanager
    def open(self, build: Callable[[], Job], case: Case) -> Iterator[Session]:
        import_module(f"assay.backends._{self.name}_setup").prepare(case)
        yield import_module(f"assay.backends._{self.name}_session").open_session(build(), case)

    def profile(self, folder: Path) -> AbstractContextManager[_profilers.Mark]:
        return _profilers.PROFILERS[self.name](folder)
