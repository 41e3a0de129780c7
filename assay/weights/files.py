"""Read and write weights in any format."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.corrupt import DAMAGED_HINT
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_file, user_path
from assay.weights.bins import read_bins, write_bins
from assay.weights.h5 import read_h5, read_keras, write_h5, write_old_h5
from assay.weights.layers import Layer, Weights, by_layer
from assay.weights.rows import Flattened

FORMS = ".npz, .keras, .weights.h5, .h5 or a folder of .bin files"


def read(path: str | Path, layers: Sequence[Layer] = ()) -> Weights:
    """Canonical float32 weights; a folder of .bin files needs the layers of its model."""
    target = user_path(path)
    if target.is_dir():
        return read_bins(target, layers)
    if not target.is_file():
        raise UsageError(f"There is no weights file {target}.", hint=f"Give {FORMS}.")
    with _explain_read_errors(target):
        if target.suffix == ".npz":
            weights = _read_npz(target)
        elif target.suffix == ".keras":
            weights = read_keras(target)
        elif target.suffix in {".h5", ".hdf5"}:
            weights = read_h5(target)
        else:
            raise UsageError(f"{target} has no known format of weights.", hint=f"Give {FORMS}.")
        numbers = {key: np.asarray(array, np.float32) for key, array in weights.items()}
    by_layer(numbers)  # checks the names
    return numbers


def write(
    path: str | Path, weights: Mapping[str, NDArray[Any]], flattened: Flattened | None = None
) -> None:
    """Write atomically. A path without a suffix is a folder of .bin files."""
    target = user_path(path)
    if target.is_dir() or not target.suffix:
        write_bins(target, weights, flattened)
        return
    writers = {".npz": _write_npz, ".h5": write_old_h5, ".weights.h5": write_h5}
    suffix = ".weights.h5" if target.name.endswith(".weights.h5") else target.suffix
    if suffix not in writers:
        hint = (
            "A .keras file contains a model too: save it with Keras." if suffix == ".keras" else ""
        )
        raise UsageError(
            f"Weights cannot be written as {target.name}.", hint=hint or f"Use {FORMS}."
        )
    with user_file(target) as temporary:
        writers[suffix](temporary, weights)


def check_path(path: str | Path) -> None:
    """Raise if weights cannot be saved here, before a training starts."""
    target = user_path(path).absolute()
    folder = target.is_dir() or not target.suffix
    if not folder and target.suffix not in {".npz", ".h5", ".keras"}:
        raise UsageError(f"Weights cannot be written as {target.name}.", hint=f"Use {FORMS}.")
    parent = target if folder else target.parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        why = "is not writable" if parent.is_dir() else "is no folder"
        raise UsageError(
            f"Weights cannot be written as {target}: {parent} {why}.", hint="Give another path."
        )


def digest(path: str | Path) -> str:
    """sha256 of a file, or of the files of a folder with their names."""
    target = user_path(path)
    if target.is_file():
        with open(target, "rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    checksum = hashlib.sha256()
    for part in sorted(target.glob("*.bin")):
        checksum.update(part.name.encode() + b"\0" + part.read_bytes())
    return f"sha256:{checksum.hexdigest()}"


def _read_npz(path: Path) -> Weights:
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def _write_npz(path: Path, weights: Mapping[str, NDArray[Any]]) -> None:
    with open(path, "wb") as file:
        # Not compressed: slow, and saves little.
        np.savez(file, **dict(weights))  # type: ignore[arg-type]


@contextmanager
def _explain_read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except DAMAGED_HINT as error:
        raise AssayError(
            f"{path} is cut or wrong: reading weights from it failed ({error}).",
            hint="Download or save it again.",
        ) from None
