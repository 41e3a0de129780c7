"""Cache of seeded weights: the first process of a run draws them, the others read them.

A file for each net and seed, in a folder that is removed at the end of the run. It holds the
arrays, each after its checksum, and is renamed when complete. Damaged or missing ones are drawn
again.
"""

from __future__ import annotations

import math
import os
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from assay.core.settings import CACHED_WEIGHTS

MAX_BYTES = 4 << 30  # bytes of all files, so that a study of many sizes does not fill the disk
_CHECKSUM = 4  # bytes

Shapes = Mapping[str, tuple[int, ...]]
Draw = Callable[[], Iterator[Any]]  # arrays of float32, one for each shape


def load_or_draw(shapes: Shapes, seed: int, draw: Draw) -> Iterator[tuple[str, Any]]:
    """Each name with its array, as `draw` returns it, from the cache if possible."""
    folder = os.environ.get(CACHED_WEIGHTS)
    if not folder:
        yield from zip(shapes, draw(), strict=True)
        return
    path = Path(folder) / f"weights-{_key(shapes, seed, draw)}"
    names = iter(shapes)
    read = 0
    for values in _read(path, shapes):
        yield next(names), values
        read += 1
    if read < len(shapes):
        rest = islice(_draw_and_store(path, draw, _size(shapes)), read, None)
        yield from zip(names, rest, strict=True)


def _key(shapes: Shapes, seed: int, draw: Draw) -> str:
    """A hash with the last part of each name, its role, because layers have different names in each
    framework; and with the checkout."""
    roles = [(name.replace("/", ".").rpartition(".")[2], shape) for name, shape in shapes.items()]
    import hashlib  # not at every start

    request = msgspec.json.encode([draw.__module__, __file__, seed, roles])
    return hashlib.sha256(request).hexdigest()[:24]


def _read(path: Path, shapes: Shapes) -> Iterator[Any]:
    """The arrays of a file, up to the first damaged one."""
    import numpy as np

    try:
        file = open(path, "rb", buffering=0)  # noqa: SIM115 (closed below)
    except OSError:
        return
    with file:
        for shape in shapes.values():
            # each in its own memory, as when drawn: kernels may depend on the alignment
            values = np.empty(shape, np.float32)
            checksum = file.read(_CHECKSUM)
            is_complete = file.readinto(values.reshape(-1).view("uint8").data) == values.nbytes
            if not is_complete or checksum != _checksum(values):
                return
            yield values


def _draw_and_store(path: Path, draw: Draw, size: int) -> Iterator[Any]:
    """Draw arrays and write them to the cache; a full disk only prevents the file."""
    file: _WeightFile | None = None
    with suppress(OSError):
        if size + sum(other.stat().st_size for other in path.parent.iterdir()) <= MAX_BYTES:
            file = _WeightFile(path)
    try:
        for values in draw():
            if file:
                file.add(values)
            yield values
        if file:
            file.finish()
    finally:
        if file:
            file.close()


class _WeightFile:
    """A file with a temporary name until it is complete."""

    def __init__(self, path: Path) -> None:
        self._path = path
        own = f"{os.getpid()}-{threading.get_ident()}"
        self._temporary = path.with_name(f".{own}-{path.name}")
        self._file = open(self._temporary, "wb", buffering=0)  # noqa: SIM115 (has a lifetime)

    def add(self, values: Any) -> None:
        parts = (_checksum(values), values.reshape(-1).view("uint8"))
        try:
            is_complete = all(self._file.write(part) == len(part) for part in parts)
        except (OSError, ValueError):  # disk full, or closed because of it
            is_complete = False
        if not is_complete:
            self._file.close()

    def finish(self) -> None:
        if not self._file.closed:
            with suppress(OSError):
                os.replace(self._temporary, self._path)

    def close(self) -> None:
        self._file.close()
        with suppress(OSError):
            self._temporary.unlink()


def _checksum(values: Any) -> bytes:
    return zlib.crc32(values).to_bytes(_CHECKSUM, "little")


def _size(shapes: Shapes) -> int:
    return sum(_CHECKSUM + 4 * math.prod(shape) for shape in shapes.values())
