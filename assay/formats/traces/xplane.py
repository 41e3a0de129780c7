"""XSpace files (`*.xplane.pb`) of JAX and TensorFlow, decoded without either, or protobuf.

Fields after tsl/profiler/protobuf/xplane.proto, checked with files of JAX 0.10 and TensorFlow 2.21.
Space: planes 1. Plane: name 2, lines 3, names of events 4 and of stats 5. Line: name 2, start 3 in
nanoseconds, events 4. Event: its name's id 1, offset 2 and duration 3 in picoseconds, stats 4.
Stat: its name's id 1, a number 3 or 4, a text 5, the id of a text 7. Others are skipped.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from assay.core.protobuf import DamagedError, Scalar, fields, read_bytes, read_number
from assay.formats.traces.chrome import Event, Place

DEVICE = "/device:"  # what planes of accelerators begin with
METADATA = "/host:metadata"  # the plane of the compiled programs
XLA_OPS = "XLA Ops"  # a line that repeats others of its device, by operation
STREAM = "Stream"

# TensorFlow's operations that only wait for others: calls of functions, and of what XLA compiled.
_CALLS = ("__", "PartitionedCall", "StatefulPartitionedCall", "XlaLaunch", "_XlaRun")


class _Plane(NamedTuple):
    name: str
    lines: list[dict[int, list[Scalar]]]
    events: dict[int, tuple[str, str]]  # id → name, and the type of a TensorFlow operation
    stats: dict[int, str]


def events(data: bytes) -> Iterator[Event]:
    """All events of a file."""
    try:
        encoded_planes = [read_bytes(value) for field, value in fields(data) if field == 1]
        planes = [_plane(plane) for plane in encoded_planes]
        programs: Programs = {}
        for plane, encoded in zip(planes, encoded_planes, strict=True):
            if plane.name == METADATA:
                programs |= instruction_sources(encoded)
        for plane in planes:
            yield from _plane_events(plane, programs)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise DamagedError(f"it is no trace of JAX or TensorFlow ({error})") from None


def _plane(data: bytes) -> _Plane:
    parts = _group_fields(data)
    stats = dict(_name_entry(item) for item in parts.get(5, []))
    return _Plane(
        name=_text(parts, 2),
        lines=[_group_fields(read_bytes(line)) for line in parts.get(3, [])],
        events=dict(_name_entry(item) for item in parts.get(4, [])),
        stats={key: name for key, (name, _) in stats.items()},
    )


def _plane_events(plane: _Plane, programs: Programs) -> Iterator[Event]:
    titles = [_text(line, 2) for line in plane.lines]
    for title, line in zip(titles, plane.lines, strict=True):
        place = _place(plane.name, title, titles)
        begin = _number(line, 3) * 1e-9
        for event in line.get(4, []):
            yield _event(_group_fields(read_bytes(event)), plane, title, begin, place, programs)


def _place(plane: str, title: str, titles: list[str]) -> Place:
    """Where the operations of a line ran; "": the line repeats or groups others."""
    if not plane.startswith(DEVICE):
        return "host"
    if XLA_OPS in titles:
        return "device" if title == XLA_OPS else ""
    return "device" if title.startswith(STREAM) else ""


def _event(
    values: dict[int, list[Scalar]],
    plane: _Plane,
    title: str,
    begin: float,
    place: Place,
    programs: Programs,
) -> Event:
    name, kind = plane.events.get(int(_number(values, 1)), ("", ""))
    stats = dict(_stat(read_bytes(stat), plane.stats) for stat in values.get(4, []))
    program = programs.get(f"{stats.get('hlo_module')}({stats.get('program_id')})", {})
    operation = stats.get("hlo_op", "")
    is_operation = place == "device" or operation or (kind and not kind.startswith(_CALLS))
    return Event(
        name=name,
        process=plane.name,
        thread=title,
        start=begin + _number(values, 2) * 1e-12,
        seconds=_number(values, 3) * 1e-12,
        place=place if is_operation else "",
        source=program.get(operation, ""),
    )


def _stat(data: bytes, names: dict[int, str]) -> tuple[str, str]:
    parts = _group_fields(data)
    name = names.get(int(_number(parts, 1)), "")
    if 7 in parts:
        return name, names.get(int(_number(parts, 7)), "")
    return name, _text(parts, 5) or str(int(_number(parts, 3) or _number(parts, 4)))


def _name_entry(item: Scalar) -> tuple[int, tuple[str, str]]:
    """An item of a map: key 1, value 2, which holds a name in 2 and one for display in 4."""
    parts = _group_fields(read_bytes(item))
    value = _group_fields(read_bytes(parts.get(2, [b""])[0]))
    return int(_number(parts, 1)), (_text(value, 2), _text(value, 4))


def _group_fields(data: bytes) -> dict[int, list[Scalar]]:
    values: dict[int, list[Scalar]] = {}
    for field, value in fields(data):
        values.setdefault(field, []).append(value)
    return values


def _text(parts: dict[int, list[Scalar]], field: int) -> str:
    return read_bytes(parts.get(field, [b""])[0]).decode(errors="replace")


def _number(parts: dict[int, list[Scalar]], field: int) -> float:
    return read_number(parts.get(field, [0])[0])


# Compiled programs in a trace: which part of the model each instruction of XLA comes from.
#
# Fields after xla/service/hlo.proto and xplane.proto, checked with files of JAX 0.10. Plane:
# names 4, whose items hold a value 2. Name: text 2, stats 5. Stat: bytes 6, here a program:
# module 1. Module: computations 3. Computation: instructions 2. Instruction: name 1, metadata 7.
# Metadata: source 2.

Programs = dict[str, dict[str, str]]  # MODULE(PROGRAM) → instruction → source


def instruction_sources(plane: bytes) -> Programs:
    """Sources from the encoded plane of compiled programs."""
    programs: Programs = {}
    for item in _all(plane, 4):
        for named in _all(item, 2):
            name = b"".join(_all(named, 2)).decode(errors="replace")
            programs[name] = dict(_sources(named))
    return programs


def _sources(named: bytes) -> Iterator[tuple[str, str]]:
    for instruction in _inside(named, (5, 6, 1, 3, 2)):
        name = b"".join(_all(instruction, 1)).decode(errors="replace")
        yield name, b"".join(_inside(instruction, (7, 2))).decode(errors="replace")


def _inside(data: bytes, path: tuple[int, ...]) -> Iterator[bytes]:
    """Every message at a path of field numbers."""
    if not path:
        yield data
        return
    for part in _all(data, path[0]):
        yield from _inside(part, path[1:])


def _all(data: bytes, field: int) -> list[bytes]:
    return [read_bytes(value) for number, value in fields(data) if number == field]
