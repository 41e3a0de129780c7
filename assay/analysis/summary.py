"""One result → its quantities: medians with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.findings import Doubt, Quantity, Summary
from assay.records import Result

VERSION = 1  # of what this file computes; cached summaries of another version are made anew
RESAMPLES = 1000
SPREAD = 0.15  # coefficient of variation above which a number is doubted


def summarize(result: Result) -> Summary:
    """Everything one may quote from a result."""
    found: dict[str, Quantity] = {}
    steady = result.values("step_time")
    if steady:
        found["step_time"] = median_quantity(steady, "s")
        found["throughput"] = _rate(found["step_time"], result.items)
    for metric, phase in (("first_step", "first"), ("open_time", "open")):
        name = "step_time" if phase == "first" else metric
        values = result.values(name, phase)  # type: ignore[arg-type]
        if values:
            found[metric] = single(values[0], "s")
    return Summary(quantities=found, doubts=tuple(_doubts(steady)))


def median_quantity(values: Sequence[float], unit: str) -> Quantity:
    low, high = median_interval(values)
    middle = float(np.median(values))
    return Quantity(value=middle, low=low, high=high, unit=unit, estimator="median", n=len(values))


def single(value: float, unit: str) -> Quantity:
    """A number there is only one of: no interval can be given, so it is the number itself."""
    return Quantity(value=value, low=value, high=value, unit=unit, estimator="single", n=1)


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % percentile bootstrap (Efron 1979) of the median; seeded, so that it is a function."""
    array = np.asarray(values, dtype=float)
    if len(array) < 2:
        return float(array[0]), float(array[0])
    picks = np.random.default_rng(0).integers(0, len(array), (RESAMPLES, len(array)))
    medians = np.median(array[picks], axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return float(low), float(high)


def median_and_half_width(values: Sequence[float]) -> tuple[float, float]:
    """What the stopping rule looks at."""
    low, high = median_interval(values[-2000:])
    return float(np.median(values)), (high - low) / 2


def _rate(step: Quantity, items: int) -> Quantity:
    return Quantity(
        value=items / step.value,
        low=items / step.high,
        high=items / step.low,
        unit="items/s",
        estimator="items / median",
        n=step.n,
    )


def _doubts(steady: Sequence[float]) -> list[Doubt]:
    if len(steady) < 2:
        return []
    spread = float(np.std(steady) / np.mean(steady))
    if spread <= SPREAD:
        return []
    return [
        Doubt(
            code="spread",
            text=f"the samples spread by {spread:.0%} of their mean",
            remedy="Close other programs, or sample longer with --budget 1m.",
        )
    ]
