"""The file of weights beside a native program: a text index, then float32 numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import numpy as np

from assay.native.graph import Array

HEAD = "assay-weights 1\n"
ALIGN = 64  # bytes: a cache line, so that vectors of a constant never straddle two


def write_weights(file: BinaryIO, constants: Mapping[str, Array]) -> None:
    """A line `name offset count` for each, an empty line, then the numbers; offsets in bytes."""
    start = 0
    while True:  # the index's own length moves what it tells
        offsets = _offsets(constants, start)
        index = "".join(f"{n} {offsets[n]} {a.size}\n" for n, a in constants.items()) or "\n"
        head = f"{HEAD}{index}\n".encode()
        if len(head) <= start:
            break
        start = _aligned(len(head))
    file.write(head)
    for name, array in constants.items():
        file.write(b"\0" * (offsets[name] - file.tell()))
        file.write(np.ascontiguousarray(array, dtype="<f4").tobytes())


def _offsets(constants: Mapping[str, Array], start: int) -> dict[str, int]:
    found = {}
    for name, array in constants.items():
        found[name] = start
        start = _aligned(start + 4 * array.size)
    return found


def _aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN
