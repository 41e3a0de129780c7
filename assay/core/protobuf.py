"""Read and write protobuf's wire format without protobuf: a message is the bytes of its fields.

A key holds a field's number and one of four wire types.
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
    """The bytes are not a valid message."""


def fields(data: bytes) -> Iterator[Field]:
    """All fields in order; varints as int64, fixed-size numbers as floating point."""
    offset = 0
    while offset < len(data):
        key, offset = _read_varint(data, offset)
        kind = key & 7
        value: Scalar
        if kind == _VARINT:
            value, offset = _read_varint(data, offset)
            value = value - 2 * _NEGATIVE if value >= _NEGATIVE else value
        elif kind == _EIGHT:
            (value,), offset = struct.unpack_from("<d", data, offset), offset + 8
        elif kind == _FOUR:
            (value,), offset = struct.unpack_from("<f", data, offset), offset + 4
        elif kind == _BYTES:
            size, offset = _read_varint(data, offset)
            value, offset = data[offset : offset + size], offset + size
            if offset > len(data):
                raise DamagedError("it is cut short")
        else:
            raise DamagedError(f"it holds wire type {kind}, which no such file has")
        yield key >> 3, value


def varints(data: bytes) -> Iterator[int]:
    """Integers packed into one field, as int64."""
    offset = 0
    while offset < len(data):
        value, offset = _read_varint(data, offset)
        yield value - 2 * _NEGATIVE if value >= _NEGATIVE else value


def read_bytes(value: Scalar) -> bytes:
    if isinstance(value, bytes):
        return value
    raise DamagedError("it holds a number where a text belongs")


def read_number(value: Scalar) -> float:
    if isinstance(value, bytes):
        raise DamagedError("it holds a text where a number belongs")
    return value


def encode_int(field: int, value: int) -> bytes:
    """Negative integers in two's complement of 64 bits."""
    return _write_varint(field << 3) + _write_varint(value & (1 << 64) - 1)


def encode_float(field: int, value: float) -> bytes:
    return _write_varint(field << 3 | 5) + struct.pack("<f", value)


def encode_text(field: int, value: str) -> bytes:
    return encode_bytes(field, value.encode())


def encode_bytes(field: int, value: bytes | Message) -> bytes:
    """Bytes, or another message."""
    return _write_varint(field << 3 | 2) + _write_varint(len(value)) + value


def _read_varint(data: bytes, offset: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[offset]
        value, offset = value | (byte & 127) << shift, offset + 1
        if byte < 128:
            return value, offset
    raise DamagedError("it holds a number that does not end")


def _write_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
