"""What is kept of a model's outputs and weights: enough to see whether two contenders are one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.records import Value

VALUES = 16  # outputs that are kept, spread evenly over all
MOST = 1 << 20  # outputs that are looked at, spread evenly over all, where there are more
PIECE = 1 << 20  # values summed in their own precision, before a sum in a wider one


def places(count: int, most: int = MOST) -> Any:
    """Which of so many values are looked at: the same in every framework."""
    import numpy as np

    return np.linspace(0, count - 1, min(most, count)).round().astype(np.int64)


def of_outputs(shape: Sequence[int], flat: Any) -> dict[str, Value]:
    """Shape, norm, largest, and some values: they tell a wrong order, which a norm does not.

    Of outputs of this shape, or of the sample of them that `places` names.
    """
    import numpy as np

    return {
        "output_shape": "x".join(map(str, shape)),
        "outputs": " ".join(f"{v:.7g}" for v in flat[places(len(flat), VALUES)].tolist()),
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
