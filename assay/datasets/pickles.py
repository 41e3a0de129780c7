"""Pickles of plain values and NumPy arrays, read without letting the file name any code to run."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy._core.multiarray import _reconstruct

from assay.datasets.damage import REPLACE, damaged
from assay.errors import AssayError


def load_arrays(path: Path) -> dict[bytes, Any]:
    """The dict a file holds; text that Python 2 wrote comes as bytes."""
    expected = "a pickled dict of arrays was expected"
    try:
        with open(path, "rb") as file:
            found = _Unpickler(path, file).load()
    except _BROKEN as error:
        raise damaged(path, f"unpickling it failed ({error})", expected) from None
    if not isinstance(found, dict):
        raise damaged(path, f"it holds a {type(found).__name__}", expected)
    return {key.encode() if isinstance(key, str) else key: found[key] for key in found}


# What the pickle module says a damaged file may raise.
_BROKEN = (
    *(pickle.UnpicklingError, EOFError, OSError, ValueError, TypeError, AttributeError),
    *(IndexError, KeyError, MemoryError),
)


def _bytes(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes for Python 2; any other encoding has no business here."""
    if encoding not in {"latin1", b"latin1"}:
        raise ValueError(f"bytes encoded as {encoding!r}")
    return text.encode("latin1")


_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _bytes,
}


class _Unpickler(pickle.Unpickler):
    def __init__(self, path: Path, file: BinaryIO) -> None:
        super().__init__(file, encoding="bytes")
        self._path = path

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 (what pickle asks for)
        if (module, name) not in _ALLOWED:
            raise AssayError(
                f"{self._path} asks for {module}.{name}, but only arrays may be pickled in it.",
                hint=f"It may be hostile. {REPLACE}",
            )
        return _ALLOWED[module, name]
