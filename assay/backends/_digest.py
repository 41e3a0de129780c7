"""What is kept of a model's outputs and weights: enough to see whether two contenders are one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from assay.core.records import Value

VALUES = 16  # outputs that are kept, spread evenly over all
PIECE = 1 << 20  # values summed in their own precision, before a sum in a wider one


def of_outputs(array: Any) -> dict[str, Value]:  # noqa: ANN401 (a numpy array)
    """Shape, norm, largest, and some values: they tell a wrong order, which a norm does not."""
    import numpy as np

    flat = np.asarray(array).ravel()
    places = np.linspace(0, len(flat) - 1, min(VALUES, len(flat))).round().astype(int)
    return {
        "output_shape": "x".join(map(str, array.shape)),
        "outputs": " ".join(f"{value:.7g}" for value in flat[places].tolist()),
        "outputs_norm": _norm([flat]),
        "outputs_largest": float(np.abs(flat).max(initial=0.0)),
    }


def of_weights(arrays: Iterable[Any]) -> dict[str, Value]:
    """Their norm, which is the same in every framework's order of axes."""
    return {"weights_norm": _norm(arrays)}


def _norm(arrays: Iterable[Any]) -> float:
    total = 0.0
    for array in arrays:
        flat = array.ravel()
        for start in range(0, len(flat), PIECE):
            piece = flat[start : start + PIECE]
            total += float(piece @ piece)
    return float(total**0.5)
