"""BenchmarkEntries files of TensorFlow, decoded without TensorFlow or protobuf.

Fields after tensorflow/core/util/test_log.proto; the wire format is protobuf's: a key holds a
field's number and one of four wire types. Unknown fields are passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from assay.benches.entries import Entry, Metric

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_NUMBERS = {3: "cpu_time", 4: "wall_time", 5: "throughput"}
_NEGATIVE = 1 << 63

Field = tuple[int, int | float | bytes]


class DamagedError(ValueError):
    """The bytes are no BenchmarkEntries message."""


def decode(data: bytes, when: float = 0.0) -> tuple[Entry, ...]:
    """All entries of a file."""
    try:
        return tuple(_entry(_raw(part), when) for number, part in _fields(data) if number == 1)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise DamagedError(f"it is no report of TensorFlow ({error})") from None


def _entry(data: bytes, when: float) -> Entry:
    name, iters = "", None
    numbers: dict[str, float] = {}
    extras: dict[str, float | str] = {}
    metrics: list[Metric] = []
    for number, value in _fields(data):
        if number == 1:
            name = _raw(value).decode()
        elif number == 2:
            iters = int(_number(value))
        elif number in _NUMBERS:
            numbers[_NUMBERS[number]] = _number(value)
        elif number == 6:
            extras |= dict([_extra(_raw(value))])
        elif number == 7:
            metrics.append(_metric(_raw(value)))
    return Entry(
        name=name, iters=iters, extras=extras, metrics=tuple(metrics), time=when, **numbers
    )


def _extra(data: bytes) -> tuple[str, float | str]:
    """An item of a map: key 1, value 2, which holds a double in 1 or a text in 2."""
    item = dict(_fields(data))
    value = dict(_fields(_raw(item.get(2, b""))))
    text = _raw(value[2]).decode() if 2 in value else ""
    return _raw(item.get(1, b"")).decode(), text if 2 in value else _number(value.get(1, 0.0))


def _metric(data: bytes) -> Metric:
    found = dict(_fields(data))
    return Metric(
        name=_raw(found.get(1, b"")).decode(),
        value=_number(found.get(2, 0.0)),
        min_value=_wrapped(found.get(3)),
        max_value=_wrapped(found.get(4)),
    )


def _wrapped(value: int | float | bytes | None) -> float | None:
    """A DoubleValue; present but empty it means zero."""
    return None if value is None else _number(dict(_fields(_raw(value))).get(1, 0.0))


def _fields(data: bytes) -> Iterator[Field]:
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        value: int | float | bytes
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


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[place]
        value, place = value | (byte & 127) << shift, place + 1
        if byte < 128:
            return value, place
    raise DamagedError("it holds a number that does not end")


def _raw(value: int | float | bytes) -> bytes:
    if isinstance(value, bytes):
        return value
    raise DamagedError("it holds a number where a text belongs")


def _number(value: int | float | bytes) -> float:
    if isinstance(value, bytes):
        raise DamagedError("it holds a text where a number belongs")
    return value
