"""BenchmarkEntries files of TensorFlow, decoded without TensorFlow or protobuf.

Fields after tensorflow/core/util/test_log.proto. Unknown fields are skipped.
"""

from __future__ import annotations

import struct

from assay.core.protobuf import DamagedError, Scalar, fields, read_bytes, read_number
from assay.formats.perfzero.entries import BenchmarkEntry, ReportedMetric

__all__ = ["DamagedError", "decode"]

_NUMBERS = {3: "cpu_time", 4: "wall_time", 5: "throughput"}


def decode(data: bytes, when: float = 0.0) -> tuple[BenchmarkEntry, ...]:
    """All entries of a file."""
    try:
        return tuple(_entry(read_bytes(part), when) for field, part in fields(data) if field == 1)
    except (IndexError, struct.error, OverflowError, ValueError) as error:
        raise DamagedError(f"it is no report of TensorFlow ({error})") from None


def _entry(data: bytes, when: float) -> BenchmarkEntry:
    name, iters = "", None
    numbers: dict[str, float] = {}
    extras: dict[str, float | str] = {}
    metrics: list[ReportedMetric] = []
    for field, value in fields(data):
        if field == 1:
            name = read_bytes(value).decode()
        elif field == 2:
            iters = int(read_number(value))
        elif field in _NUMBERS:
            numbers[_NUMBERS[field]] = read_number(value)
        elif field == 6:
            extras |= dict([_extra(read_bytes(value))])
        elif field == 7:
            metrics.append(_metric(read_bytes(value)))
    return BenchmarkEntry(
        name=name, iters=iters, extras=extras, metrics=tuple(metrics), time=when, **numbers
    )


def _extra(data: bytes) -> tuple[str, float | str]:
    """An item of a map: key 1, value 2, which holds a double in 1 or a text in 2."""
    item = dict(fields(data))
    value = dict(fields(read_bytes(item.get(2, b""))))
    text = read_bytes(value[2]).decode() if 2 in value else ""
    return read_bytes(item.get(1, b"")).decode(), text if 2 in value else read_number(
        value.get(1, 0.0)
    )


def _metric(data: bytes) -> ReportedMetric:
    parts = dict(fields(data))
    return ReportedMetric(
        name=read_bytes(parts.get(1, b"")).decode(),
        value=read_number(parts.get(2, 0.0)),
        min_value=_double_value(parts.get(3)),
        max_value=_double_value(parts.get(4)),
    )


def _double_value(value: Scalar | None) -> float | None:
    """A DoubleValue; present but empty it means zero."""
    return None if value is None else read_number(dict(fields(read_bytes(value))).get(1, 0.0))
