"""Images in a NumPy archive with x_train, y_train, x_test, y_test, as Keras' MNIST."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from assay.core.corrupt import damage_error, explain_read_errors
from assay.datasets.dataset import Form, Images, OpenedDataset

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def archive(file: str) -> Form:
    """The form of one `.npz` file; adds a missing channel axis."""

    def find(folder: Path) -> OpenedDataset | None:
        path = folder / file
        if not path.is_file():
            return None

        def read(part: str, start: int, stop: int) -> Images:
            return _images(path, part, start, stop)

        return OpenedDataset(path, _parts(path), lambda part: _size(path, part), read)

    return find


def member_rows(path: Path, key: str, start: int, stop: int) -> NDArray[Any]:
    """Rows of one array of an archive; the rest after them is not decompressed."""
    with explain_read_errors(path, f"an array '{key}' with {stop} rows should be in it"):
        with zipfile.ZipFile(path) as file, file.open(f"{key}.npy") as stream:
            shape, fortran, dtype = _header(stream)
            if fortran or dtype.hasobject:
                raise ValueError(f"'{key}' is stored in column order or holds Python objects")
            row = int(np.prod(shape[1:], dtype=int)) * dtype.itemsize
            stream.seek(start * row, 1)
            data = stream.read((stop - start) * row)
        return np.frombuffer(data, dtype).reshape(stop - start, *shape[1:])


def _parts(path: Path) -> tuple[str, ...]:
    with (
        explain_read_errors(path, "it should be a NumPy archive (.npz)"),
        zipfile.ZipFile(path) as file,
    ):
        names = set(file.namelist())
    parts = tuple(p for p in ("train", "test") if {f"x_{p}.npy", f"y_{p}.npy"} <= names)
    if not parts:
        content = ", ".join(sorted(names)) or "nothing"
        raise damage_error(path, f"it holds {content}", "x_test and y_test should be in it")
    return parts


def _size(path: Path, part: str) -> int:
    images, labels = _length(path, f"x_{part}"), _length(path, f"y_{part}")
    if images != labels:
        raise damage_error(path, f"it has {images} images", f"{labels} labels")
    return images


def _length(path: Path, key: str) -> int:
    with (
        explain_read_errors(path, f"an array '{key}' should be in it"),
        zipfile.ZipFile(path) as file,
    ):
        with file.open(f"{key}.npy") as stream:
            shape, _, _ = _header(stream)
        return shape[0]


def _header(stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    header: tuple[tuple[int, ...], bool, np.dtype[Any]] = _HEADERS[npy.read_magic(stream)](stream)
    return header


def _images(path: Path, part: str, start: int, stop: int) -> Images:
    inputs = member_rows(path, f"x_{part}", start, stop)
    labels = member_rows(path, f"y_{part}", start, stop).reshape(-1)  # CIFAR's are a column
    return Images(inputs[..., None] if inputs.ndim == 3 else inputs, labels.astype(np.int32))
