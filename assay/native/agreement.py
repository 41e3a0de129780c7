"""Compare outputs of a built model with the reference outputs of its framework."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.core.errors import AssayError
from assay.native import reference
from assay.native.expected import FINITE, ITEMS, NONFINITE, ReferenceOutputs, defines_nonfinite
from assay.native.graph import Graph
from assay.stats.fairness.outputs import TOLERANCE

Array = np.ndarray[Any, Any]
ALLOWED = TOLERANCE["float32"]

# Allowed ratio of the difference to that of float32 and float64 in the reference. The largest
# observed was 14, in EfficientNetV2B1 with seeded weights.
OUTLIER_FACTOR = 16.0
MAX_DIFFERENCE = 0.05  # of the largest output: if rounding alone changes more, no check is possible
NOISE = 1e-6  # of the largest output of usual items: what is left where all else cancels out


def model_agreement(
    what: str, graph: Graph, outputs: Sequence[Array], expected: ReferenceOutputs
) -> float:
    """The largest difference over the normally distributed items, as a share of the largest output;
    raises if that, or the difference of one of the other items, is too large."""
    first = expected.first()
    difference = agreement(
        what,
        graph.outputs,
        [array[:ITEMS] for array in outputs],
        first.outputs,
        expected.judge,
        lambda: rounding(graph, first.inputs),
    )
    for row, kind in enumerate([*FINITE, *NONFINITE][: len(expected.inputs[0]) - ITEMS], ITEMS):
        for number, name in enumerate(graph.outputs):
            if problem := _hard_difference(graph, outputs, expected, row, number):
                raise _wrong(what, name, f"{problem}, for {kind} inputs")
    return difference


def _hard_difference(
    graph: Graph, outputs: Sequence[Array], expected: ReferenceOutputs, row: int, number: int
) -> str:
    """How one item's output is wrong, as a clause; "" if it is right or nothing defines it.

    A network may amplify rounding for such inputs more than for others, or overflow.
    """
    output, wanted = outputs[number][row], expected.outputs[number][row]
    if not np.isfinite(wanted).all() and not defines_nonfinite(graph):
        return ""
    difference = distance(output, wanted)
    if difference <= ALLOWED:
        return ""
    if not math.isfinite(difference):
        return f"is infinite or NaN where {expected.judge} is not, or finite where it is"
    usual = float(np.abs(_finite(expected.outputs[number][:ITEMS])).max(initial=0.0))
    scale = float(np.abs(_finite(wanted)).max(initial=0.0)) or 1.0
    if difference * scale <= NOISE * usual:
        return ""
    items = tuple(each[row : row + 1] for each in expected.inputs)
    allowed = OUTLIER_FACTOR * _sensitivity(graph, items)
    if difference <= allowed or allowed > MAX_DIFFERENCE or math.isnan(allowed):
        return ""
    return f"differs from {expected.judge} by {difference:.2g} of the largest value"


def rounding(graph: Graph, items: Sequence[Array]) -> float:
    """Difference of a graph's outputs in float32 and float64; takes minutes for a large model."""
    with np.errstate(all="ignore"):
        low, high = (
            reference.outputs(graph, *items, dtype=dtype) for dtype in (np.float32, np.float64)
        )
    return max(distance(a, b) for a, b in zip(low, high, strict=True))


def _sensitivity(graph: Graph, items: Sequence[Array]) -> float:
    """The same, or the difference if inputs were rounded differently, where that is more."""
    random = np.random.default_rng(0)
    moved = [_move(random, each) for each in items]
    with np.errstate(all="ignore"):
        pairs = zip(
            reference.outputs(graph, *moved, dtype=np.float64),
            reference.outputs(graph, *items, dtype=np.float64),
            strict=True,
        )
        return max(rounding(graph, items), *(distance(a, b) for a, b in pairs))


def _move(random: np.random.Generator, values: Array) -> Array:
    """By a share of float32's precision."""
    if not np.issubdtype(values.dtype, np.floating):
        return values
    return values.astype(np.float64) * (1 + 1e-7 * random.uniform(-1, 1, values.shape))


def _finite(values: Array) -> Array:
    return values[np.isfinite(values)].astype(np.float64)


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
    raise _wrong(what, names[worst], f"{problem}, where {allowed:.2g} is allowed")


def _wrong(what: str, output: str, problem: str) -> AssayError:
    return AssayError(
        f"{what} is wrong: its output '{output}' {problem}; nothing was written.",
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
    with np.errstate(invalid="ignore"):
        difference = float(np.abs(a - b).max(initial=0.0) / (scale or 1.0))
    return difference if math.isfinite(difference) else math.inf


def agreement_sentence(what: str, reference: str, difference: float) -> str:
    """Sentence about the difference from the reference, for the terminal."""
    rounds = "; this model amplifies rounding: float32 and float64 differ too"
    return (
        f"checked: {what} differs from {reference} by at most {difference:.1e} of the largest "
        f"output{rounds if difference > ALLOWED else ''}"
    )
