"""Unpickle plain values and NumPy arrays without running code from the file.

NumPy's own unpickling is not used, because a hostile file can crash it. Stand-in classes record the
state of an array, which is then constructed from it.
"""

from __future__ import annotations

import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.corrupt import REPLACE, damage_error
from assay.core.errors import AssayError
from assay.core.files import read_plain

# Exceptions of the pickle module for damaged files.
_BROKEN = (
    *(pickle.UnpicklingError, EOFError, OSError, ValueError, TypeError, AttributeError),
    *(IndexError, KeyError, MemoryError, OverflowError, RecursionError, struct.error),
)
MAX_BYTES = 1 << 30
_PLAIN = (bytes, str, bool, int, float)


def load_arrays(path: Path) -> dict[bytes, Any]:
    """The dict in a file; text of Python 2 becomes bytes."""
    expected = "a pickled dict of arrays was expected"
    try:
        content = _Unpickler(path, read_plain(path, MAX_BYTES)).load()
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
    """Lists of plain values only: nested ones, which share parts, can expand without limit."""
    if isinstance(value, _Array):
        return value.array()
    items = value if isinstance(value, list | tuple) else [value]
    if not all(item is None or isinstance(item, _PLAIN) for item in items):
        raise ValueError("a value is no array, no plain value and no list of them")
    return value


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


_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): None,  # _Unpickler._encode
}


# The unpickler in Python: that in C allocates as much as a number in the file says.
class _Unpickler(pickle._Unpickler):
    def __init__(self, path: Path, data: bytes) -> None:
        super().__init__(io.BytesIO(data), encoding="bytes")
        self._path = path
        self._encoded = 0

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise AssayError(
                f"{self._path} needs {module}.{name}, but may only contain arrays.",
                hint=f"It may be hostile. {REPLACE}",
            )
        return _ALLOWED[module, name] or self._encode

    def _encode(self, text: str, encoding: str | bytes) -> bytes:
        """Encoding of bytes by Python 3 for Python 2; others are errors."""
        if encoding not in {"latin1", b"latin1"}:
            raise ValueError(f"bytes encoded as {encoding!r}")
        self._encoded += len(text)  # one text can be encoded many times
        if self._encoded > MAX_BYTES:
            raise ValueError(f"it expands to more than {MAX_BYTES >> 20} MiB")
        return text.encode("latin1")


def _checked(name: str) -> Any:
    """A method of the unpickler that first checks the keys which it would hash: a tuple of tuples
    that share parts has more parts than anybody can visit."""
    method = getattr(pickle._Unpickler, name)

    def load(unpickler: Any) -> None:
        keys = unpickler.stack[-2:-1] if name == "load_setitem" else unpickler.stack[::2]
        if not all(isinstance(key, _PLAIN) for key in keys):
            raise pickle.UnpicklingError("a key is no text and no number")
        method(unpickler)

    return load


def _refuse(unpickler: Any) -> None:
    raise pickle.UnpicklingError("it has a set, or a number of another kind")


_Unpickler.dispatch = {
    **pickle._Unpickler.dispatch,
    pickle.SETITEM[0]: _checked("load_setitem"),
    pickle.SETITEMS[0]: _checked("load_setitems"),
    pickle.DICT[0]: _checked("load_dict"),
    **dict.fromkeys((code[0] for code in (pickle.ADDITEMS, pickle.FROZENSET)), _refuse),
}
