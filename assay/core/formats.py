"""A format of result files: how it is known by its content, read into results, and written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.findings import Reading
from assay.core.records import Result

MOST_BYTES = 64 * 2**20  # of a file to import: parsed it takes ten times as much memory


class Content(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A file from elsewhere, looked into once for all formats."""

    origin: str  # names the file in errors
    data: bytes

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8-sig", errors="replace")

    @cached_property
    def json(self) -> Any:
        """The JSON document, where nan and infinity are numbers; None where it is none."""
        import json  # msgspec's has no nan; and a list of workloads needs none of it

        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    def has(self, *names: str) -> bool:
        """Whether it is a JSON object with all these fields."""
        return isinstance(self.json, dict) and all(name in self.json for name in names)

    def wrong(self, what: str, hint: str = "") -> UsageError:
        """The error for a file that is of a format, but not as it has to be."""
        return UsageError(f"{self.origin} {what}.", hint=hint or "Nothing of it was imported.")


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """What another tool writes or reads. A format that is only written has no `read`."""

    summary: str  # one line: whose it is, and what it holds
    suffix: str  # of its files
    matches: Callable[[Content], bool] | None = None  # by content, never by the file's name
    read: Callable[[Content], Sequence[Result]] | None = None  # ids are left empty
    write: Callable[[Iterable[Reading]], bytes] | None = None
