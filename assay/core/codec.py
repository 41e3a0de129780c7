"""Records to JSON and back, for every schema there ever was."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

import msgspec

from assay.core.errors import AssayError, StoreError
from assay.core.records import SCHEMA, spelled

# C0 but for tab and line feed, DEL, C1; marks that turn the direction of writing; line separators
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
    "|[\ud800-\udfff]"  # what was no text at all
)

# History of the schema.
# 1: first.

T = TypeVar("T")

# What msgspec raises over bytes that are no JSON, another record, not UTF-8, or nested without end.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
Document = dict[str, Any]

# UPGRADES[n] turns a plain document of schema n into one of schema n + 1.
UPGRADES: dict[int, Callable[[Document], Document]] = {}


def encode(record: object, indent: int = 0) -> bytes:
    """JSON, where a number that is not finite is the string nan, inf or -inf.

    Characters that a terminal would obey are escaped: to a program they are what they were.
    """
    plain = _spell(msgspec.to_builtins(record))
    text = msgspec.json.encode(plain)
    if not text.isascii() or b"\x7f" in text:
        text = CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text.decode()).encode()
    return msgspec.json.format(text, indent=indent) if indent else text


def decode(data: bytes, kind: type[T], origin: str) -> T:
    """A record from JSON of this schema or an older one; `origin` names the file in errors."""
    try:
        plain = msgspec.json.decode(data)
    except UNREADABLE as error:
        raise StoreError(
            f"{origin} is not readable JSON ({error}).",
            hint="The file is damaged: restore it, or move it away to hide it.",
        ) from None
    if not isinstance(plain, dict):
        raise StoreError(f"{origin} holds no document of assay.", hint="Move it away to hide it.")
    if isinstance(plain.get("case"), dict):  # a result, which may be anyone's: it trusts nothing
        plain["case"].pop("trust", None)
    return _convert(upgraded(plain, origin), kind, origin)


def decode_part(data: bytes | str, kind: type[T]) -> T:
    """A value without a schema number from JSON that `encode` wrote, such as a row of an index.
    Raises what `UNREADABLE` lists."""
    return msgspec.convert(msgspec.json.decode(data), kind, strict=False)


def upgraded(plain: Document, origin: str) -> Document:
    """The document in today's schema; one from the future is refused, never guessed at."""
    schema = plain.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise StoreError(f"{origin} has no schema number.", hint="Is it a file of assay?")
    if schema > SCHEMA:
        raise StoreError(
            f"{origin} has schema {schema}, but this assay reads up to {SCHEMA}.",
            hint="Upgrade assay to read it; the file is left as it is.",
        )
    for number in range(schema, SCHEMA):
        plain = UPGRADES[number](plain) | {"schema": number + 1}
    return plain


def _convert(plain: Document, kind: type[T], origin: str) -> T:
    try:
        # not strict: only so does the string nan become the number
        return msgspec.convert(plain, kind, strict=False)
    except (msgspec.ValidationError, AssayError, RecursionError, ArithmeticError) as error:
        raise StoreError(
            f"{origin} is not a {kind.__name__.lower()} of assay ({error}).",
            hint="The file is damaged: restore it, or move it away to hide it.",
        ) from None


def _spell(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else spelled(value)
    if isinstance(value, dict):
        return {key: _spell(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_spell(item) for item in value]
    return value
