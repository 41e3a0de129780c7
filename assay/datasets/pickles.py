"""Unpickle plain values and NumPy arrays without running code from the file.

NumPy's own unpickling is not used, because a hostile file can crash it. Stand-in classes record the
state of an array, which is then constructed from it.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from assay.core.corrupt import REPLACE, damage_error
from assay.core.errors import AssayError

# Exceptions of the pickle module for damaged files.
_BROKEN = (
    *(pickle.UnpicklingError, EOFError, OSError, ValueError, TypeError, AttributeError),
    *(IndexError, KeyError, MemoryError, OverflowError),
)


def load_arrays(path: Path) -> dict[bytes, Any]:
    """The dict in a file; text of Python 2 becomes bytes."""
    expected = "a pickled dict of arrays was expected"
    try:
        with open(path, "rb") as file:
            content = _Unpickler(path, file).load()
        if not isinstance(content, dict):
            raise ValueError(f"it holds a {type(content).__name__}")
        return {_key(key): _value(value) for key, value in content.items()}
    except _BROKEN as error:
        raise damage_error(path, f"unpickling it failed ({error})", expected) from None


def _key(key: object) -> bytes:
    if isinstance(key, str):
        return key.encode()
    if isinstance(key, bytes):
        return key
    raise ValueError(f"a key is {type(key).__name__}")


def _value(value: object) -> object:
    return value.array() if isinstance(value, _Array) else value


class _Dtype:
    """Stands in for numpy.dtype."""

    def __init__(self, name: str | bytes, *_: object) -> None:
        self.name = name.decode() if isinstance(name, bytes) else name

    def __setstate__(self, state: object) -> None:
        """Byte order and the like, not used by the allowed types."""


class _Array:
    """Stands in for numpy.ndarray: its state is (version, shape, kind, column order, bytes)."""

    def __init__(self, *_: object) -> None:
        self.state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def array(self) -> NDArray[np.uint8]:
        _, shape, kind, fortran, data = self.state
        if not isinstance(kind, _Dtype) or kind.name not in {"u1", "|u1"} or fortran:
            raise ValueError("an array is not of plain bytes in row order")
        return np.frombuffer(data, np.uint8).reshape(shape)


def _bytes(text: str, encoding: str | bytes) -> bytes:
    """Encoding of bytes by Python 3 for Python 2; others are errors."""
    if encoding not in {"latin1", b"latin1"}:
        raise ValueError(f"bytes encoded as {encoding!r}")
    return text.encode("latin1")


_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _bytes,
}


class _Unpickler(pickle.Unpickler):
    def __init__(self, path: Path, file: BinaryIO) -> None:
        super().__init__(file, encoding="bytes")
        self._path = path

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise AssayError(
                f"{self._path} needs {module}.{name}, but may only contain arrays.",
                hint=f"It may be hostile. {REPLACE}",
            )
        return _ALLOWED[module, name]
