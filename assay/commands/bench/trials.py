"""Several runs of the same thing → each metric's median, interval and outliers.

A trial is a process, so trials are independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from assay.core.findings import Quantity
from assay.core.records import Result
from assay.stats.intervals import quantile

# 1.4826 makes the median absolute deviation estimate a standard deviation when values are normal;
# 3.5 of those is an outlier (Iglewicz and Hoaglin, 1993).
SCALE, FAR = 1.4826, 3.5

Values = dict[tuple[str, str, str], list[float]]  # case's key, metric, unit → a value a trial


def summarize_trials(results: Iterable[Result]) -> list[Trials]:
    return [
        Trials(
            key=key,
            metric=metric,
            quantity=_median(values, unit),
            outliers=find_outliers(values),
        )
        for (key, metric, unit), values in values_by_metric(results).items()
    ]


def values_by_metric(results: Iterable[Result]) -> Values:
    """Finite values of results that are sound, a trial's own median where it has several."""
    by_metric: Values = {}
    for result in results:
        if result.status != "ok":
            continue
        steady = [part for part in result.samples if part.phase == "steady"]
        for name in dict.fromkeys((part.metric, part.unit) for part in steady):
            values = [value for value in result.values(name[0]) if math.isfinite(value)]
            if values:
                by_metric.setdefault((result.case.key, *name), []).append(float(np.median(values)))
    return by_metric


def find_outliers(values: Sequence[float]) -> tuple[int, ...]:
    array = np.asarray(values)
    distance = np.abs(array - np.median(array))
    spread = SCALE * float(np.median(distance))
    return tuple(int(i) + 1 for i in np.flatnonzero(distance > FAR * spread)) if spread else ()


def _median(values: Sequence[float], unit: str) -> Quantity:
    value, low, high, _ = quantile(values)
    return Quantity(
        value=value, low=low, high=high, unit=unit, estimator="median of trials", n=len(values)
    )


class Trials(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one case over its trials."""

    key: str
    metric: str
    quantity: Quantity
    outliers: tuple[int, ...] = ()  # which trials, counted from 1
