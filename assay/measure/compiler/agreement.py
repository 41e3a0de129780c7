"""Whether something built from a model computes what the model's framework does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.core.errors import AssayError
from assay.stats.fairness.outputs import TOLERANCE

Array = np.ndarray[Any, Any]
ALLOWED = TOLERANCE["float32"]

# How much further apart two ways of rounding may be than float32 and float64 are in the reference:
# 14 times was seen, in EfficientNetV2B1 with seeded weights.
UNLUCKY = 16.0
MOST = 0.05  # of the largest output: where rounding explains more than that, nothing can be judged


def agreement(
    what: str,
    names: Sequence[str],
    found: Sequence[Array],
    wanted: Sequence[Array],
    judge: str,
    rounding: Callable[[], float] = lambda: 0.0,
) -> float:
    """The largest difference, as a share of the largest output; raises where it is too large.

    Some models make much of rounding: `rounding` says how far float32 takes one from float64, and
    is asked only where that matters.
    """
    apart = [distance(here, there) for here, there in zip(found, wanted, strict=True)]
    worst = max(range(len(apart)), key=apart.__getitem__)
    if apart[worst] <= ALLOWED:
        return apart[worst]
    finite = math.isfinite(apart[worst])
    allowed = max(ALLOWED, UNLUCKY * rounding()) if finite else ALLOWED
    if apart[worst] <= min(allowed, MOST):
        return apart[worst]
    if allowed > MOST:
        raise AssayError(
            f"{what} cannot be checked: with these weights rounding alone changes its outputs by "
            f"{allowed / UNLUCKY:.2g} of the largest, so that {judge} is no judge; nothing was "
            "written.",
            hint="Give it trained weights: these make of float32 what chance makes of it.",
        )
    how = (
        f"differs from {judge} by {apart[worst]:.2g} of the largest value"
        if finite
        else f"is infinite, or no number, elsewhere than in {judge}"
    )
    raise AssayError(
        f"{what} is wrong: its output '{names[worst]}' {how}, where {allowed:.2g} is allowed; "
        "nothing was written.",
        hint="This is a bug of assay: please report it with the model.",
    )


def distance(found: Array, wanted: Array) -> float:
    """Infinities and what is no number have to be the same ones, in the same places."""
    finite = np.isfinite(wanted)
    if found.shape != wanted.shape or not np.array_equal(
        found[~finite], wanted[~finite].astype(found.dtype), equal_nan=True
    ):
        return math.inf
    here, there = found[finite].astype(np.float64), wanted[finite].astype(np.float64)
    scale = max(np.abs(here).max(initial=0.0), np.abs(there).max(initial=0.0))
    apart = float(np.abs(here - there).max(initial=0.0) / (scale or 1.0))
    return apart if math.isfinite(apart) else math.inf


def agreement_sentence(what: str, reference: str, difference: float) -> str:
    """How well outputs agree with those of the reference, for the terminal."""
    rounds = "; this model makes much of rounding: float32 and float64 differ too"
    return (
        f"checked: {what} differs from {reference} by at most {difference:.1e} of the largest "
        f"output{rounds if difference > ALLOWED else ''}"
    )
