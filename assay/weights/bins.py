"""HPVM's weights: a folder of raw little-endian float32, `<layer>_w.bin`, `<layer>_b.bin`, …"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.weights.layers import Layer, Shape, Weights, kind_of, name_layers
from assay.weights.rows import Flattened, to_channels_first, to_channels_last

_SUFFIXES = {
    "kernel": "w",
    "bias": "b",
    "gamma": "gamma",
    "beta": "beta",
    "moving_mean": "mean",
    "moving_variance": "variance",
}


def read_bins(folder: Path, layers: Sequence[Layer]) -> Weights:
    """Read files without shapes: these come from the model's layers."""
    if not layers:
        raise UsageError(
            f"{folder} has .bin files, which can only be read for a known model.",
            hint="Name their model.",
        )
    offsets = _offsets(folder)
    weights = {
        f"{name}/{variable}": _read_bin(_file(folder, name, variable, offsets), name, shape)
        for name, layer in name_layers(layers)
        for variable, shape in layer.shapes.items()
    }
    maps = {name: layer.flattened for name, layer in name_layers(layers) if layer.flattened}
    return to_channels_last(weights, maps)


def write_bins(
    folder: Path, weights: Mapping[str, NDArray[Any]], flattened: Flattened | None
) -> None:
    """`flattened` is required ({} for none) for the order of dense rows."""
    kinds = {kind_of(key.partition("/")[0]) for key in weights}
    if flattened is None and "dense" in kinds and len(kinds) > 1:
        raise UsageError(
            "HPVM's files need the dense rows channels first, but the map before them is unknown.",
            hint="Give flattened={'dense_1': (rows, columns, channels)}, or {} if nothing was.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for key, array in to_channels_first(weights, flattened or {}).items():
        name, _, variable = key.partition("/")
        if variable not in _SUFFIXES:
            raise UsageError(
                f"HPVM has no file for {key}.", hint=f"It knows {', '.join(_SUFFIXES)}."
            )
        stored = array.transpose(3, 2, 0, 1) if array.ndim == 4 else array
        np.ascontiguousarray(stored, "<f4").tofile(folder / f"{name}_{_SUFFIXES[variable]}.bin")


def file_names(folder: Path, tensors: Iterable[str]) -> dict[str, str]:
    """Tensor such as `conv2d_1_w` → file in the folder, wherever Keras 2 started to count."""
    offsets = _offsets(folder)
    names = {}
    for tensor in tensors:
        kind, number, part = tensor.rsplit("_", 2)
        names[tensor] = f"{kind}_{int(number) + offsets.get(kind, 0)}_{part}.bin"
    return names


def _read_bin(path: Path, name: str, shape: Shape) -> NDArray[np.float32]:
    expected = f"layer {name} needs {shape}, {4 * math.prod(shape)} bytes"
    if not path.is_file():
        raise UsageError(
            f"{path.parent} has no {path.name}, but {expected}.",
            hint="Is it the complete folder of this network?",
        )
    if path.stat().st_size != 4 * math.prod(shape):
        raise UsageError(
            f"{path} has {path.stat().st_size} bytes, but {expected}.",
            hint="Is it the complete folder of this network?",
        )
    array: NDArray[np.float32] = np.fromfile(path, "<f4").astype(np.float32)
    if len(shape) != 4:
        return array.reshape(shape)
    rows, columns, inputs, outputs = shape
    return array.reshape(outputs, inputs, rows, columns).transpose(2, 3, 1, 0)


def _file(folder: Path, name: str, variable: str, offsets: Mapping[str, int]) -> Path:
    kind, _, number = name.rpartition("_")
    file_number = int(number) + offsets.get(kind, 0)
    return folder / f"{kind}_{file_number}_{_SUFFIXES.get(variable, variable)}.bin"


def _offsets(folder: Path) -> dict[str, int]:
    """Kind → its lowest number minus one: Keras 2 counted on from model to model."""
    lowest: dict[str, int] = {}
    for path in folder.glob("*.bin"):
        if match := re.fullmatch(r"(\w+?)_(\d+)_(?:w|b|gamma|beta|mean|variance)\.bin", path.name):
            kind, number = match[1], int(match[2])
            lowest[kind] = min(number, lowest.get(kind, number))
    return {kind: number - 1 for kind, number in lowest.items()}
