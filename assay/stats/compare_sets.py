"""Two sets of kept results → a ratio with an interval for each case, and their geometric mean.

What is compared was measured at two times, so a process is one draw: values of one process tell
nothing of how the next would have fared. docs/design/compare.md says what follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import msgspec
import numpy as np

from assay.core.findings import Quantity
from assay.core.records import Result
from assay.core.series import KeptPoint
from assay.stats import estimates
from assay.stats.intervals import quantile, student
from assay.stats.paired_ratio import FASTEST, MINIMUM, ONCE, PROCESS_NOISE, Terms, verdict

LEVEL = 0.05
FEWEST = 4  # processes a side, for an interval over processes
MANY = 400  # pairs from which on the exact distribution is as good as normal
MAIN = ("step_time", "wall_time")
EXACT = "median of all ratios of processes, exact 95 % interval"
FEW = f"fewer than {FEWEST} processes a side: widened by the process noise of 25 %"


class Side(NamedTuple):
    """What one side has of a metric of a case."""

    medians: list[float]  # one a process
    error: float  # standard error of the logarithm, within processes
    unit: str


def difference(
    key: str, metric: str, first: Side, second: Side, minimum: float = MINIMUM
) -> Difference:
    """The ratio is second over first."""
    ratio, low, high = math.nan, 0.0, math.inf
    if min(*first.medians, *second.medians) > 0:
        ratio, low, high = _interval(first, second)
    count = min(len(first.medians), len(second.medians))
    found = Quantity(value=ratio, low=low, high=high, unit="", estimator="", n=count)
    return Difference(
        key=key,
        metric=metric,
        first=_median(first),
        second=_median(second),
        ratio=ratio,
        low=low,
        high=high,
        verdict=_verdict(found, first.unit, minimum) if ratio == ratio else "cannot-tell",
    )


def side(results: Iterable[Result], metric: str) -> Side | None:
    """All sound results of one case; None without a value."""
    medians: list[float] = []
    errors: list[float] = []
    unit = ""
    for result in results:
        for values in processes(result, metric):
            medians.append(float(np.median(values)))
            errors.append(_error(values))
            unit = _unit(result, metric)
    if not medians:
        return None
    return Side(medians, math.sqrt(sum(error**2 for error in errors)) / len(errors), unit)


def points_side(points: Sequence[KeptPoint]) -> Side:
    """Of one metric of a case, from the index: a result counts as one process, and what its
    interval spans as the error within."""
    reach = 2 * student(math.inf)
    errors = [
        math.log(high / low) / reach if low > 0 and high > low else 0.0
        for *_, low, high in (one.point for one in points)
    ]
    error = math.sqrt(sum(error**2 for error in errors)) / len(errors)
    return Side([one.point.value for one in points], error, points[0].unit)


def metrics(results: Iterable[Result]) -> list[str]:
    """What results have steady values of, in the order it appears."""
    return list(
        dict.fromkeys(
            part.metric
            for result in results
            for part in result.samples
            if result.status == "ok" and part.phase == "steady"
        )
    )


def main_metric(results: Sequence[Result]) -> str:
    """What a case is about: its steps, else the whole of it, else what it reports first."""
    found = metrics(results)
    return next((name for name in MAIN if name in found), found[0] if found else "")


def means(differences: Sequence[Difference], minimum: float = MINIMUM) -> list[GroupMean]:
    """Over all cases of a metric, and over those of each group where there are several."""
    usable = [one for one in differences if one.verdict != "not-comparable" and one.ratio > 0]
    found = []
    for metric in dict.fromkeys(one.metric for one in usable):
        same = [one for one in usable if one.metric == metric]
        groups = dict.fromkeys(one.group for one in same)
        for group in [g for g in groups if g] if len(groups) > 1 else []:
            found.append(_mean(group, metric, [o for o in same if o.group == group], minimum))
        if len(same) > 1:
            found.append(_mean("", metric, same, minimum))
    return found


def ratio_interval(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Hodges and Lehmann (1963): the median of all ratios, and its exact 95 % interval."""
    ratios = np.sort(np.divide.outer(np.asarray(second), np.asarray(first)).ravel())
    cut = _cut(len(first), len(second))
    low, high = (float(ratios[cut - 1]), float(ratios[-cut])) if cut else (0.0, math.inf)
    return float(np.median(ratios)), low, high


def _interval(first: Side, second: Side) -> tuple[float, float, float]:
    """With few processes, how far two of the same kind may lie apart is not known from them."""
    if min(len(first.medians), len(second.medians)) >= FEWEST:
        return ratio_interval(first.medians, second.medians)
    middle = _mean_log(second.medians) - _mean_log(first.medians)
    error = math.hypot(first.error, second.error)
    reach = math.log1p(PROCESS_NOISE) + student(math.inf) * error
    return math.exp(middle), math.exp(middle - reach), math.exp(min(middle + reach, 700.0))


def _mean_log(values: Sequence[float]) -> float:
    return sum(map(math.log, values)) / len(values)


def _mean(group: str, metric: str, differences: Sequence[Difference], minimum: float) -> GroupMean:
    """Of these very cases: their errors add up as squares, and no case stands for others."""
    logs = [math.log(one.ratio) for one in differences]
    halves = [_half(one) for one in differences]
    middle = sum(logs) / len(logs)
    reach = math.sqrt(sum(half**2 for half in halves)) / len(halves)
    ratio = Quantity(
        value=math.exp(middle),
        low=math.exp(middle - reach) if reach < math.inf else 0.0,
        high=math.exp(middle + reach) if reach < 700 else math.inf,
        unit="",
        estimator="geometric mean of the cases' ratios",
        n=len(logs),
    )
    unit = differences[0].first.unit
    return GroupMean(
        group=group, metric=metric, ratio=ratio, verdict=_verdict(ratio, unit, minimum)
    )


def _half(one: Difference) -> float:
    if one.low <= 0 or math.isinf(one.high):
        return math.inf
    return max(math.log(one.high / one.ratio), math.log(one.ratio / one.low))


def _verdict(ratio: Quantity, unit: str, minimum: float) -> str:
    """In words that suit the unit: of times faster, of rates too, of anything else higher."""
    found = verdict(ratio, Terms("", minimum, higher_is_better=unit.endswith("/s")))
    if found in ("same", "cannot-tell") or unit == "s" or unit.endswith("/s"):
        return found
    return "higher" if ratio.value > 1 else "lower"


def processes(result: Result, metric: str) -> Iterator[Sequence[float]]:
    """The values of each process that ended well."""
    if result.status != "ok":
        return
    told = metric in result.reported
    if metric in ONCE and not told:
        parts = estimates.by_process(result, *ONCE[metric])
    elif metric in result.peaks and not told:
        parts = [(result.peaks[metric],)]
    elif metric in ("step_time", FASTEST) and not told:
        parts = [tuple(p.values.tolist()) for p in estimates.processes(result.own())]
        parts = [(min(part),) for part in parts if part] if metric == FASTEST else parts
    else:
        parts = estimates.by_process(result, metric)
    for part in parts:
        finite = [value for value in part if math.isfinite(value)]
        if finite:
            yield finite


def _error(values: Sequence[float]) -> float:
    if len(values) < 2 or min(values) <= 0:
        return 0.0
    half = quantile(np.log(np.asarray(values))).half_width
    return 0.0 if math.isnan(half) else half / student(math.inf)


def _unit(result: Result, metric: str) -> str:
    known = {part.metric: part.unit for part in result.samples}
    return known.get(metric, "s" if metric in (*ONCE, FASTEST) else "")


def _median(found: Side) -> Quantity:
    only = len(found.medians) == 1
    value, low, high, _ = (
        (found.medians[0], math.nan, math.nan, 1.0) if only else quantile(found.medians)
    )
    return Quantity(
        value=value,
        low=low,
        high=high,
        unit=found.unit,
        estimator="median of processes",
        n=len(found.medians),
    )


def _cut(first: int, second: int) -> int:
    """How many ratios lie outside on each side: P(U < cut) of Mann and Whitney's U ≤ 2.5 %."""
    pairs = first * second
    if pairs > MANY:
        deviation = math.sqrt(pairs * (first + second + 1) / 12)
        return max(0, int(pairs / 2 - student(math.inf) * deviation))
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


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one case in two sets of results; the ratio is second over first."""

    key: str
    metric: str
    first: Quantity
    second: Quantity
    ratio: float
    low: float
    high: float
    verdict: str  # faster, slower (of times), lower, higher, same, cannot-tell, not-comparable
    group: str = ""  # what it was asked to be grouped by
    notes: tuple[str, ...] = ()  # what differs besides, by name


class GroupMean(msgspec.Struct, frozen=True, kw_only=True):
    """The geometric mean of the ratios of several cases."""

    group: str  # "": all
    metric: str
    ratio: Quantity
    verdict: str
