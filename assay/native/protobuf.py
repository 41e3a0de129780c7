"""Protobuf's wire format, written without protobuf: a message is the bytes of its fields."""

from __future__ import annotations

import struct

Message = bytes


def whole(field: int, value: int) -> bytes:
    """An integer, negative ones in two's complement of 64 bits."""
    return _varint(field << 3) + _varint(value & (1 << 64) - 1)


def single(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def text(field: int, value: str) -> bytes:
    return chunk(field, value.encode())


def chunk(field: int, value: bytes | Message) -> bytes:
    """Bytes, or another message."""
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
