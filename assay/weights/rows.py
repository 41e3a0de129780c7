"""Rows of a dense layer after a flatten: rows, columns, channels here; channels first elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.weights.layers import Shape, Weights

Flattened = Mapping[str, Shape]  # dense layer → rows, columns, channels of the map before it


def to_channels_first(weights: Mapping[str, NDArray[Any]], flattened: Flattened) -> Weights:
    """Weights for a model that flattens channels first: PyTorch's, HPVM's."""
    return _reorder(weights, flattened, first=True)


def to_channels_last(weights: Mapping[str, NDArray[Any]], flattened: Flattened) -> Weights:
    """Weights of a model that flattens channels first, in canonical order."""
    return _reorder(weights, flattened, first=False)


def _reorder(weights: Mapping[str, NDArray[Any]], flattened: Flattened, first: bool) -> Weights:
    changed = dict(weights)
    for layer, shape in flattened.items():
        key = f"{layer}/kernel"
        if key not in changed or changed[key].shape[0] != math.prod(shape):
            actual = f"{changed[key].shape[0]} rows" if key in changed else "no kernel"
            raise UsageError(
                f"The map flattened before {layer} is {shape}, but {layer} has {actual}.",
                hint="Give its rows, columns and channels.",
            )
        changed[key] = _permute(changed[key], shape, first)
    return changed


def _permute(kernel: NDArray[Any], shape: Shape, first: bool) -> NDArray[Any]:
    rows, columns, channels = shape
    if first:
        parts = kernel.reshape(rows, columns, channels, -1).transpose(2, 0, 1, 3)
    else:
        parts = kernel.reshape(channels, rows, columns, -1).transpose(1, 2, 0, 3)
    return parts.reshape(kernel.shape)
