"""Compiled programs in a trace: which part of the model each instruction of XLA comes from.

Fields after xla/service/hlo.proto and xplane.proto, checked with files of JAX 0.10. Plane: names 4,
whose items hold a value 2. Name: text 2, stats 5. Stat: bytes 6, here a program: module 1. Module:
computations 3. Computation: instructions 2. Instruction: name 1, metadata 7. Metadata: source 2.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.core.protobuf import fields, raw

Programs = dict[str, dict[str, str]]  # MODULE(PROGRAM) → instruction → source


def instruction_sources(plane: bytes) -> Programs:
    """Of the plane that holds them, encoded."""
    found: Programs = {}
    for item in _all(plane, 4):
        for named in _all(item, 2):
            name = b"".join(_all(named, 2)).decode(errors="replace")
            found[name] = dict(_sources(named))
    return found


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


def _all(data: bytes, place: int) -> list[bytes]:
    return [raw(value) for number, value in fields(data) if number == place]
