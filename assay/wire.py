"""Protobuf's wire format, read without protobuf: a message is fields, each a number and a value.

A key holds a field's number and one of four wire types; what a number means, the reader knows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_NEGATIVE = 1 << 63

Scalar = int | float | bytes
Field = tuple[int, Scalar]


class DamagedError(ValueError):
    """The bytes are no such message."""


def fields(data: bytes) -> Iterator[Field]:
    """All fields in their order; whole numbers as int64, fixed ones as floating point."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        value: Scalar
        if kind == _VARINT:
            value, place = _varint(data, place)
            value = value - 2 * _NEGATIVE if value >= _NEGATIVE else value
        elif kind == _EIGHT:
            (value,), place = struct.unpack_from("<d", data, place), place + 8
        elif kind == _FOUR:
            (value,), place = struct.unpack_from("<f", data, place), place + 4
        elif kind == _BYTES:
            size, place = _varint(data, place)
            value, place = data[place : place + size], place + size
            if place > len(data):
                raise DamagedError("it is cut short")
        else:
            raise DamagedError(f"it holds wire type {kind}, which no such file has")
        yield key >> 3, value


def raw(value: Scalar) -> bytes:
    if isinstance(value, bytes):
        return value
    raise DamagedError("it holds a number where a text belongs")


def number(value: Scalar) -> float:
    if isinstance(value, bytes):
        raise DamagedError("it holds a text where a number belongs")
    return value


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        value, place = value | (byte & 127) << shift, place + 1
        if byte < 128:
            return value, place
    raise DamagedError("it holds a number that does not end")
