"""Benchmark methods by name: `module.Class.method`, and patterns for several."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from assay.core.errors import UsageError

FILTER = "filter:"
_BEGINS = re.compile(r"\w+(\.\w+){2,}(:.*)?|\w+(\.\w+)+:.*", re.DOTALL)
_HINT = "A method is module.Class.method; several are module.Class.filter:REGEX."


class Method(msgspec.Struct, frozen=True, tag="method"):
    """One method of a class. A name with dots follows a colon."""

    module: str
    owner: str  # the class
    method: str

    @property
    def name(self) -> str:
        mark = ":" if "." in self.method else "."
        return f"{self.module}.{self.owner}{mark}{self.method}"


class Filter(msgspec.Struct, frozen=True, tag="filter"):
    """All methods of a class with a match at the start of the name, as in PerfZero."""

    module: str
    owner: str
    pattern: str

    def matches(self, name: str) -> bool:
        return re.match(self.pattern, name) is not None


def parse(texts: Iterable[str]) -> list[Method | Filter]:
    """Names of one or several flags, each of which may be a comma list."""
    return [_parse_one(piece) for text in texts for piece in split(text)]


def split(text: str) -> list[str]:
    """Split at commas outside of regular expressions: `a.B.filter:x{1,2}` is one."""
    pieces: list[str] = []
    for piece in text.split(","):
        if pieces and FILTER in pieces[-1] and not _BEGINS.fullmatch(piece.strip()):
            pieces[-1] += f",{piece}"
        else:
            pieces.append(piece)
    return [piece.strip() for piece in pieces if piece.strip()]


def _parse_one(text: str) -> Method | Filter:
    before, mark, pattern = text.partition(FILTER)
    if mark and before.endswith((".", ":")):
        module, owner = _class(before[:-1], text)
        return Filter(module, owner, _check_regex(pattern))
    before, colon, method = text.partition(":")
    if not colon:
        before, _, method = text.rpartition(".")
    if not method:
        raise UsageError(f"'{text}' has no method's name at its end.", hint=_HINT)
    return Method(*_class(before, text), method)


def _class(path: str, text: str) -> tuple[str, str]:
    module, _, owner = path.rpartition(".")
    if not module or not owner:
        raise UsageError(f"'{text}' names no method of a class in a module.", hint=_HINT)
    return module, owner


def _check_regex(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"'{pattern}' is no regular expression ({error}).", hint="As in filter:benchmark_.*"
        ) from None
    return pattern
