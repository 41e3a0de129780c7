"""Fingerprints of a model's outputs and weights, to compare contenders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.records import Value

VALUES = 16  # outputs that are stored, evenly spaced
MAX_VALUES = 1 << 20  # outputs that are used at most, evenly spaced
CHUNK_SIZE = (
    1 << 20
)  # values summed in their own precision, before they are added in double precision


def sample_indices(count: int, limit: int = MAX_VALUES) -> Any:
    """Indices of the values that are used: the same in every framework."""
    import numpy as np

    return np.linspace(0, count - 1, min(limit, count)).round().astype(np.int64)


def sample_values(array: Any) -> tuple[tuple[int, ...], Any]:
    """The shape of all outputs, and those that are used, flat."""
    flat = array.ravel()
    return array.shape, flat[sample_indices(len(flat))]


def fingerprint_outputs(shape: Sequence[int], flat: Any) -> dict[str, Value]:
    """Shape, norm, maximum, and some values, which show a wrong order of axes.

    `flat`: all outputs of this shape, or those at `places`.
    """
    import numpy as np

    return {
        "output_shape": "x".join(map(str, shape)),
        "outputs": " ".join(f"{v:.7g}" for v in flat[sample_indices(len(flat), VALUES)].tolist()),
        "outputs_norm": _norm([flat]),
        "outputs_largest": float(np.abs(flat).max(initial=0.0)),
    }


def fingerprint_weights(arrays: Iterable[Any]) -> dict[str, Value]:
    """Norm of all weights, which does not depend on the order of axes."""
    return {"weights_norm": _norm(arrays)}


def _norm(arrays: Iterable[Any]) -> float:
    total = 0.0
    for array in arrays:
        flat = array.ravel()
        for start in range(0, len(flat), CHUNK_SIZE):
            piece = flat[start : start + CHUNK_SIZE]
            total += float(piece @ piece)
    return float(total**0.5)
