"""Whether something built from a model computes what the model's framework does."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from assay.analysis.fairness.outputs import TOLERANCE
from assay.core.errors import AssayError

Array = np.ndarray[Any, Any]
ALLOWED = TOLERANCE["float32"]


# Two ways of rounding one ill-conditioned model differ by chance; a mistake differs by far more.
UNLUCKY = 4.0


def agreement(
    what: str,
    names: Sequence[str],
    found: Sequence[Array],
    wanted: Sequence[Array],
    judge: str,
    exact: Callable[[], Sequence[Array]] | None = None,
) -> float:
    """The largest difference, as a share of the largest output; raises where it is too large.

    Some models make much of rounding: where `exact` gives their outputs by float64, being about as
    near to those as the judge is will do.
    """
    apart = _distances(found, wanted)
    worst = max(range(len(apart)), key=apart.__getitem__)
    if apart[worst] <= ALLOWED:
        return apart[worst]
    said = ""
    if exact and math.isfinite(apart[worst]):
        truth = exact()
        own, theirs = _distances(found, truth), _distances(wanted, truth)
        if all(far <= max(ALLOWED, UNLUCKY * his) for far, his in zip(own, theirs, strict=True)):
            return apart[worst]
        said = f" (from float64, it by {own[worst]:.2g} and {judge} by {theirs[worst]:.2g})"
    how = (
        f"differs from {judge} by {apart[worst]:.2g} of the largest value{said}"
        if math.isfinite(apart[worst])
        else f"is infinite, or no number, elsewhere than in {judge}"
    )
    raise AssayError(
        f"{what} is wrong: its output '{names[worst]}' {how}, where {ALLOWED:g} is allowed; "
        "nothing was written.",
        hint="This is a bug of assay: please report it with the model.",
    )


def _distances(found: Sequence[Array], wanted: Sequence[Array]) -> list[float]:
    return [distance(here, there) for here, there in zip(found, wanted, strict=True)]


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
