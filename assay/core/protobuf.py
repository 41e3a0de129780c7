"""Protobuf's wire format without protobuf, read and written: a message is the bytes of its fields.

A key holds a field's number and one of four wire types; what a number means, the reader knows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_NEGATIVE = 1 << 63

Scalar = int | float | bytes
Field = tuple[int, Scalar]
Message = bytes


class DamagedError(ValueError):
    """The bytes are no such message."""


def fields(data: bytes) -> Iterator[Field]:
    """All fields in their order; whole numbers as int64, fixed ones as floating point."""
    place = 0
    while place < len(data):
        key, place = _read_varint(data, place)
        kind = key & 7
        value: Scalar
        if kind == _VARINT:
            value, place = _read_varint(data, place)
            value = value - 2 * _NEGATIVE if value >= _NEGATIVE else value
        elif kind == _EIGHT:
            (value,), place = struct.unpack_from("<d", data, place), place + 8
        elif kind == _FOUR:
            (value,), place = struct.unpack_from("<f", data, place), place + 4
        elif kind == _BYTES:
            size, place = _read_varint(data, place)
            value, place = data[place : place + size], place + size
            if place > len(data):
                raise DamagedError("it is cut short")
        else:
            raise DamagedError(f"it holds wire type {kind}, which no such file has")
        yield key >> 3, value


def varints(data: bytes) -> Iterator[int]:
    """Whole numbers packed into one field, as int64."""
    place = 0
    while place < len(data):
        value, place = _read_varint(data, place)
        yield value - 2 * _NEGATIVE if value >= _NEGATIVE else value


def raw(value: Scalar) -> bytes:
    if isinstance(value, bytes):
        return value
    raise DamagedError("it holds a number where a text belongs")


def number(value: Scalar) -> float:
    if isinstance(value, bytes):
        raise DamagedError("it holds a text where a number belongs")
    return value


def whole(field: int, value: int) -> bytes:
    """An integer, negative ones in two's complement of 64 bits."""
    return _write_varint(field << 3) + _write_varint(value & (1 << 64) - 1)


def single(field: int, value: float) -> bytes:
    return _write_varint(field << 3 | 5) + struct.pack("<f", value)


def text(field: int, value: str) -> bytes:
    return chunk(field, value.encode())


def chunk(field: int, value: bytes | Message) -> bytes:
    """Bytes, or another message."""
    return _write_varint(field << 3 | 2) + _write_varint(len(value)) + value


def _read_varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        value, place = value | (byte & 127) << shift, place + 1
        if byte < 128:
            return value, place
    raise DamagedError("it holds a number that does not end")


def _write_varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
