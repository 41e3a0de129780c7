"""Records to JSON and back, for every version of the schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import Any, TypeVar

import msgspec

from assay.core.errors import AssayError, StoreError
from assay.core.records import SCHEMA, comparable_value

# C0 but for tab and line feed, DEL, C1; marks that turn the direction of writing; line separators
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]"
    "|[\ud800-\udfff]"  # surrogates
)

# History of the schema.
# 1: first.

T = TypeVar("T")

# Errors of msgspec: no JSON, another record, not UTF-8, nested too deeply.
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
Document = dict[str, Any]

# UPGRADES[n] turns a plain document of schema n into one of schema n + 1.
UPGRADES: dict[int, Callable[[Document], Document]] = {}


def encode(record: object, indent: int = 0) -> bytes:
    """JSON, where a number that is not finite is the string nan, inf or -inf.

    Control characters of terminals are escaped.
    """
    plain = _encode_nonfinite(msgspec.to_builtins(record))
    text = msgspec.json.encode(plain)
    if not text.isascii() or b"\x7f" in text:
        text = CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text.decode()).encode()
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
    if isinstance(plain.get("case"), dict):  # a result may come from anyone: trust is dropped
        plain["case"].pop("trust", None)
    return _convert(upgrade(plain, origin), kind, origin)


def decode_part(data: bytes | str, kind: type[T]) -> T:
    """A value without a schema number from JSON that `encode` wrote, such as a row of an index.
    Raises what `UNREADABLE` lists."""
    return msgspec.convert(msgspec.json.decode(data), kind, strict=False)


def upgrade(plain: Document, origin: str) -> Document:
    """Convert a document to the current schema; a newer one is an error."""
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
        # not strict: the string nan becomes the number
        return msgspec.convert(plain, kind, strict=False)
    except (msgspec.ValidationError, AssayError, RecursionError, ArithmeticError) as error:
        raise StoreError(
            f"{origin} is not a {kind.__name__.lower()} of assay ({error}).",
            hint="The file is damaged: restore it, or move it away to hide it.",
        ) from None


def _encode_nonfinite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else comparable_value(value)
    if isinstance(value, dict):
        return {key: _encode_nonfinite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode_nonfinite(item) for item in value]
    return value
