"""Weights in and out of any file, by what the file is."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.corrupt import BROKEN
from assay.core.errors import AssayError, UsageError
from assay.core.files import user_path, written_whole
from assay.weights.bins import read_bins, write_bins
from assay.weights.h5 import read_h5, read_keras, write_h5, write_old_h5
from assay.weights.layers import Layer, Weights, by_layer
from assay.weights.rows import Flattened

FORMS = ".npz, .keras, .weights.h5, .h5 or a folder of .bin files"


def read(path: str | Path, layers: Sequence[Layer] = ()) -> Weights:
    """Canonical float32 weights; a folder of .bin files needs the layers of its model."""
    place = user_path(path)
    if place.is_dir():
        return read_bins(place, layers)
    if not place.is_file():
        raise UsageError(f"There is no weights file {place}.", hint=f"Give {FORMS}.")
    with _whole_file(place):
        if place.suffix == ".npz":
            weights = _read_npz(place)
        elif place.suffix == ".keras":
            weights = read_keras(place)
        elif place.suffix in {".h5", ".hdf5"}:
            weights = read_h5(place)
        else:
            raise UsageError(f"{place} is no form of weights known here.", hint=f"Give {FORMS}.")
        numbers = {key: np.asarray(array, np.float32) for key, array in weights.items()}
    by_layer(numbers)  # refuses names that are not layers
    return numbers


def write(
    path: str | Path, weights: Mapping[str, NDArray[Any]], flattened: Flattened | None = None
) -> None:
    """Written whole or not at all. A path without a suffix is a folder of .bin files."""
    place = user_path(path)
    if place.is_dir() or not place.suffix:
        write_bins(place, weights, flattened)
        return
    writers = {".npz": _write_npz, ".h5": write_old_h5, ".weights.h5": write_h5}
    form = ".weights.h5" if place.name.endswith(".weights.h5") else place.suffix
    if form not in writers:
        hint = "A .keras file holds a model too: let Keras save it." if form == ".keras" else ""
        raise UsageError(
            f"Weights cannot be written as {place.name}.", hint=hint or f"Use {FORMS}."
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(place) as temporary:
        writers[form](temporary, weights)


def check_place(path: str | Path) -> None:
    """Refuse what a training could not be saved as, before it begins."""
    place = user_path(path).absolute()
    folder = place.is_dir() or not place.suffix
    if not folder and place.suffix not in {".npz", ".h5", ".keras"}:
        raise UsageError(f"Weights cannot be written as {place.name}.", hint=f"Use {FORMS}.")
    above = place if folder else place.parent
    while not above.exists():
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        why = "may not be written to" if above.is_dir() else "is no folder"
        raise UsageError(
            f"Weights cannot be written as {place}: {above} {why}.", hint="Give another path."
        )


def digest(path: str | Path) -> str:
    """sha256 of a file, or of the files of a folder with their names."""
    place = user_path(path)
    if place.is_file():
        with open(place, "rb") as file:
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    found = hashlib.sha256()
    for part in sorted(place.glob("*.bin")):
        found.update(part.name.encode() + b"\0" + part.read_bytes())
    return f"sha256:{found.hexdigest()}"


def _read_npz(path: Path) -> Weights:
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def _write_npz(path: Path, weights: Mapping[str, NDArray[Any]]) -> None:
    with open(path, "wb") as file:
        # Not packed: that saves little of trained weights, and takes long.
        np.savez(file, **dict(weights))  # type: ignore[arg-type]


@contextmanager
def _whole_file(path: Path) -> Iterator[None]:
    try:
        yield
    except BROKEN as error:
        raise AssayError(
            f"{path} is cut or wrong: reading weights from it failed ({error}).",
            hint="Get it again, or save it again.",
        ) from None
