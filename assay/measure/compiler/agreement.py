"""Compare outputs of a built model with the reference outputs of its framework."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.core.errors import AssayError
from assay.stats.fairness.outputs import TOLERANCE

Array = np.ndarray[Any, Any]
ALLOWED = TOLERANCE["float32"]

# Allowed ratio of the difference to that of float32 and float64 in the reference. The largest
# observed was 14, in EfficientNetV2B1 with seeded weights.
OUTLIER_FACTOR = 16.0
MAX_DIFFERENCE = 0.05  # of the largest output: if rounding alone changes more, no check is possible


def agreement(
    what: str,
    names: Sequence[str],
    outputs: Sequence[Array],
    expected: Sequence[Array],
    judge: str,
    rounding: Callable[[], float] = lambda: 0.0,
) -> float:
    """The largest difference, as a share of the largest output; raises if it is too large.

    Some models amplify rounding: `rounding` computes the difference of float32 and float64, and is
    called only if needed.
    """
    differences = [distance(a, b) for a, b in zip(outputs, expected, strict=True)]
    worst = max(range(len(differences)), key=differences.__getitem__)
    if differences[worst] <= ALLOWED:
        return differences[worst]
    finite = math.isfinite(differences[worst])
    allowed = max(ALLOWED, OUTLIER_FACTOR * rounding()) if finite else ALLOWED
    if differences[worst] <= min(allowed, MAX_DIFFERENCE):
        return differences[worst]
    if allowed > MAX_DIFFERENCE:
        raise AssayError(
            f"{what} cannot be checked: with these weights rounding alone changes its outputs by "
            f"{allowed / OUTLIER_FACTOR:.2g} of the largest, so that {judge} is no reference; "
            "nothing was written.",
            hint="Give it trained weights: with these, float32 outputs are arbitrary.",
        )
    problem = (
        f"differs from {judge} by {differences[worst]:.2g} of the largest value"
        if finite
        else f"is infinite or NaN where {judge} is not, or finite where it is"
    )
    raise AssayError(
        f"{what} is wrong: its output '{names[worst]}' {problem}, where {allowed:.2g} is allowed; "
        "nothing was written.",
        hint="This is a bug of assay: please report it with the model.",
    )


def distance(output: Array, expected: Array) -> float:
    """Largest difference, as a share of the largest output; infinities and NaN must be equal."""
    finite = np.isfinite(expected)
    if output.shape != expected.shape or not np.array_equal(
        output[~finite], expected[~finite].astype(output.dtype), equal_nan=True
    ):
        return math.inf
    a, b = output[finite].astype(np.float64), expected[finite].astype(np.float64)
    scale = max(np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0))
    difference = float(np.abs(a - b).max(initial=0.0) / (scale or 1.0))
    return difference if math.isfinite(difference) else math.inf


def agreement_sentence(what: str, reference: str, difference: float) -> str:
    """Sentence about the difference from the reference, for the terminal."""
    rounds = "; this model amplifies rounding: float32 and float64 differ too"
    return (
        f"checked: {what} differs from {reference} by at most {difference:.1e} of the largest "
        f"output{rounds if difference > ALLOWED else ''}"
    )
