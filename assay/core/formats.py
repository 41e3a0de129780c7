"""Formats of result files: detection by content, reader and writer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from math import inf
from typing import Any

import msgspec

from assay.core.errors import UsageError
from assay.core.findings import SummarizedResult
from assay.core.records import Result

MAX_BYTES = 64 * 2**20  # of a file to import: parsing takes ten times as much memory
MAX_DIGITS = 18  # of an integer, with its sign: fits in 64 bits


class NumberTooLargeError(ValueError):
    """An integer that is no float."""


def parse_json(text: str) -> Any:
    """JSON with nan and infinity. Raises ValueError or RecursionError.

    An integer beyond 64 bits becomes a float, and a lone surrogate U+FFFD: no record can hold them.
    """
    import json  # msgspec has no nan; imported late for start-up time

    document = json.loads(text, parse_int=_integer)
    return _without_surrogates(document) if "\\ud" in text.lower() else document


def _integer(digits: str) -> int | float:
    if len(digits) <= MAX_DIGITS:
        return int(digits)
    if (value := float(digits)) in (inf, -inf):
        raise NumberTooLargeError(f"has an integer of {len(digits)} digits, which is too large")
    return value


def _without_surrogates(node: Any) -> Any:
    if isinstance(node, str):
        return node.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(node, list):
        return [_without_surrogates(item) for item in node]
    if isinstance(node, dict):
        return {_without_surrogates(k): _without_surrogates(v) for k, v in node.items()}
    return node


class Content(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """An external file, parsed once for all formats."""

    origin: str  # names the file in errors
    data: bytes

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8-sig", errors="replace")

    @cached_property
    def json(self) -> Any:
        """The JSON document with nan and infinity, or None if it is not JSON."""
        try:
            return parse_json(self.text)
        except NumberTooLargeError as error:
            raise self.wrong(str(error)) from None
        except (ValueError, RecursionError):
            return None

    def has(self, *names: str) -> bool:
        """Whether it is a JSON object with all these fields."""
        return isinstance(self.json, dict) and all(name in self.json for name in names)

    def wrong(self, what: str, hint: str = "") -> UsageError:
        """The error for a malformed file of a format."""
        return UsageError(f"{self.origin} {what}.", hint=hint or "Nothing of it was imported.")


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """A file format of another tool. A write-only format has no `read`."""

    summary: str  # one line: tool and content
    suffix: str  # of its files
    matches: Callable[[Content], bool] | None = None  # by content, never by the file's name
    read: Callable[[Content], Sequence[Result]] | None = None  # ids are left empty
    write: Callable[[Iterable[SummarizedResult]], bytes] | None = None
