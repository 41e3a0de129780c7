"""Several runs of the same thing → each metric's median, interval and outliers; and two such sets.

A trial is a process, so trials are independent draws.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from assay.analysis.intervals import quantile
from assay.core.findings import Difference, Quantity, Trials
from assay.core.records import Result

# 1.4826 makes the median absolute deviation estimate a standard deviation when values are normal;
# 3.5 of those is an outlier (Iglewicz and Hoaglin, 1993).
SCALE, FAR = 1.4826, 3.5
LEVEL = 0.05
SAME = 0.02  # a ratio surely within this of 1 is the same

Values = dict[tuple[str, str, str], list[float]]  # case's key, metric, unit → a value a trial


def over_trials(results: Iterable[Result]) -> list[Trials]:
    return [
        Trials(
            key=key,
            metric=metric,
            quantity=_median(values, unit),
            outliers=outliers(values),
        )
        for (key, metric, unit), values in values_by_metric(results).items()
    ]


def differences(first: Iterable[Result], second: Iterable[Result]) -> list[Difference]:
    """What both sets have, compared over all trials of each."""
    before, after = values_by_metric(first), values_by_metric(second)
    return [_difference(name, before[name], after[name]) for name in before if name in after]


def values_by_metric(results: Iterable[Result]) -> Values:
    """Finite values of results that are sound, a trial's own median where it has several."""
    found: Values = {}
    for result in results:
        if result.status != "ok":
            continue
        steady = [part for part in result.samples if part.phase == "steady"]
        for name in dict.fromkeys((part.metric, part.unit) for part in steady):
            values = [value for value in result.values(name[0]) if math.isfinite(value)]
            if values:
                found.setdefault((result.case.key, *name), []).append(float(np.median(values)))
    return found


def outliers(values: Sequence[float]) -> tuple[int, ...]:
    array = np.asarray(values)
    distance = np.abs(array - np.median(array))
    spread = SCALE * float(np.median(distance))
    return tuple(int(i) + 1 for i in np.flatnonzero(distance > FAR * spread)) if spread else ()


def ratio_interval(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Hodges and Lehmann (1963): the median of all ratios, and its exact 95 % interval.

    With fewer than four trials a side no such interval exists: it is then (0, infinity).
    """
    ratios = np.sort(np.divide.outer(np.asarray(second), np.asarray(first)).ravel())
    cut = _cut(len(first), len(second))
    low, high = (float(ratios[cut - 1]), float(ratios[-cut])) if cut else (0.0, math.inf)
    return float(np.median(ratios)), low, high


def _median(values: Sequence[float], unit: str) -> Quantity:
    value, low, high, _ = quantile(values)
    return Quantity(
        value=value, low=low, high=high, unit=unit, estimator="median of trials", n=len(values)
    )


def _difference(
    name: tuple[str, str, str], first: Sequence[float], second: Sequence[float]
) -> Difference:
    key, metric, unit = name
    ratio, low, high = math.nan, 0.0, math.inf
    if min(*first, *second) > 0:
        ratio, low, high = ratio_interval(first, second)
    return Difference(
        key=key,
        metric=metric,
        first=_median(first, unit),
        second=_median(second, unit),
        ratio=ratio,
        low=low,
        high=high,
        verdict=_verdict(low, high, unit),
    )


def _verdict(low: float, high: float, unit: str) -> str:
    less, more = ("faster", "slower") if unit == "s" else ("lower", "higher")
    if low >= 1 - SAME and high <= 1 + SAME:
        return "same"
    if high < 1:
        return less
    return more if low > 1 else "cannot-tell"


def _cut(first: int, second: int) -> int:
    """How many ratios lie outside on each side: P(U < cut) of Mann and Whitney's U ≤ 2.5 %."""
    ways, total, cut = _ways(first, second), math.comb(first + second, first), 0
    below = 0
    while cut < len(ways) // 2 and (below := below + ways[cut]) / total <= LEVEL / 2:
        cut += 1
    return cut


@cache
def _ways(first: int, second: int) -> tuple[int, ...]:
    """How many orders of two samples give each U (Mann and Whitney, 1947, their recurrence)."""
    if not first or not second:
        return (1,)
    without = _ways(first, second - 1)
    shifted = (0,) * second + _ways(first - 1, second)
    size = first * second + 1
    return tuple(
        (without[u] if u < len(without) else 0) + (shifted[u] if u < len(shifted) else 0)
        for u in range(size)
    )
