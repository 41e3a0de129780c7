"""Two sets of stored results → a ratio with an interval for each case, and their geometric mean.

The sets were measured at different times, so the unit of replication is the process. See
docs/design/compare.md.
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
from assay.core.series import StoredPoint
from assay.stats import estimates
from assay.stats.intervals import quantile, student
from assay.stats.paired_ratio import FASTEST, MIN_EFFECT, ONCE, PROCESS_NOISE, DecisionRule, verdict

LEVEL = 0.05
MIN_PROCESSES = 4  # processes per side, for an interval over processes
MAX_EXACT_PAIRS = 400  # pairs; with more, the normal approximation is used
MAIN = ("step_time", "wall_time")
EXACT = "median of all ratios of processes, exact 95 % interval"
FEW = f"fewer than {MIN_PROCESSES} processes a side: widened by the process noise of 25 %"


class Side(NamedTuple):
    """Values of a metric of a case in one set."""

    medians: list[float]  # one per process
    error: float  # standard error of the logarithm, within processes
    unit: str


def difference(
    key: str, metric: str, first: Side, second: Side, minimum: float = MIN_EFFECT
) -> Difference:
    """The ratio is second over first."""
    ratio, low, high = math.nan, 0.0, math.inf
    if min(*first.medians, *second.medians) > 0:
        ratio, low, high = _interval(first, second)
    count = min(len(first.medians), len(second.medians))
    interval = Quantity(value=ratio, low=low, high=high, unit="", estimator="", n=count)
    return Difference(
        key=key,
        metric=metric,
        first=_median(first),
        second=_median(second),
        ratio=ratio,
        low=low,
        high=high,
        verdict=_verdict(interval, first.unit, minimum) if ratio == ratio else "cannot-tell",
    )


def side(results: Iterable[Result], metric: str) -> Side | None:
    """All successful results of one case; None without a value."""
    parts: list[Sequence[float]] = []
    unit = ""
    for result in results:
        for values in processes(result, metric):
            parts.append(values)
            unit = _unit(result, metric)
    return values_side(parts, unit)


def values_side(parts: Iterable[Sequence[float]], unit: str) -> Side | None:
    """Of values by process; None without one."""
    filled = [part for part in parts if len(part)]
    if not filled:
        return None
    errors = [_error(part) for part in filled]
    error = math.sqrt(sum(each**2 for each in errors)) / len(errors)
    return Side([float(np.median(part)) for part in filled], error, unit)


def points_side(points: Sequence[StoredPoint]) -> Side:
    """A side from points of the index: a result is one process, its interval the error."""
    reach = 2 * student(math.inf)
    errors = [
        math.log(high / low) / reach if low > 0 and high > low else 0.0
        for *_, low, high in (entry.point for entry in points)
    ]
    error = math.sqrt(sum(error**2 for error in errors)) / len(errors)
    return Side([entry.point.value for entry in points], error, points[0].unit)


def metrics(results: Iterable[Result]) -> list[str]:
    """Metrics with steady values, in order of appearance."""
    return list(
        dict.fromkeys(
            part.metric
            for result in results
            for part in result.samples
            if result.status == "ok" and part.phase == "steady"
        )
    )


def main_metric(results: Sequence[Result]) -> str:
    """Step time, else wall time, else the first reported metric."""
    names = metrics(results)
    return next((name for name in MAIN if name in names), names[0] if names else "")


def means(differences: Sequence[Difference], minimum: float = MIN_EFFECT) -> list[GroupMean]:
    """Means over all cases of a metric, and over each group if there are several."""
    usable = [
        difference
        for difference in differences
        if difference.verdict != "not-comparable" and difference.ratio > 0
    ]
    group_means = []
    for metric in dict.fromkeys(difference.metric for difference in usable):
        same = [difference for difference in usable if difference.metric == metric]
        groups = dict.fromkeys(difference.group for difference in same)
        for group in [g for g in groups if g] if len(groups) > 1 else []:
            group_means.append(_mean(group, metric, [o for o in same if o.group == group], minimum))
        if len(same) > 1:
            group_means.append(_mean("", metric, same, minimum))
    return group_means


def ratio_interval(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Hodges and Lehmann (1963): the median of all ratios, and its exact 95 % interval."""
    ratios = np.sort(np.divide.outer(np.asarray(second), np.asarray(first)).ravel())
    cut = _cut(len(first), len(second))
    low, high = (float(ratios[cut - 1]), float(ratios[-cut])) if cut else (0.0, math.inf)
    return float(np.median(ratios)), low, high


def _interval(first: Side, second: Side) -> tuple[float, float, float]:
    """With few processes, their own noise cannot be estimated from them."""
    if min(len(first.medians), len(second.medians)) >= MIN_PROCESSES:
        return ratio_interval(first.medians, second.medians)
    middle = _mean_log(second.medians) - _mean_log(first.medians)
    error = math.hypot(first.error, second.error)
    reach = math.log1p(PROCESS_NOISE) + student(math.inf) * error
    return math.exp(middle), math.exp(middle - reach), math.exp(min(middle + reach, 700.0))


def _mean_log(values: Sequence[float]) -> float:
    return sum(map(math.log, values)) / len(values)


def _mean(group: str, metric: str, differences: Sequence[Difference], minimum: float) -> GroupMean:
    """Geometric mean of exactly these cases: their squared errors add up."""
    logs = [math.log(difference.ratio) for difference in differences]
    halves = [_log_half_width(difference) for difference in differences]
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


def _log_half_width(difference: Difference) -> float:
    if difference.low <= 0 or math.isinf(difference.high):
        return math.inf
    return max(
        math.log(difference.high / difference.ratio), math.log(difference.ratio / difference.low)
    )


def _verdict(ratio: Quantity, unit: str, minimum: float) -> str:
    """faster or slower for times and rates, higher or lower for other units."""
    word = verdict(ratio, DecisionRule("", minimum, higher_is_better=unit.endswith("/s")))
    if word in ("same", "cannot-tell") or unit == "s" or unit.endswith("/s"):
        return word
    return "higher" if ratio.value > 1 else "lower"


def processes(result: Result, metric: str) -> Iterator[Sequence[float]]:
    """Finite values of each successful process."""
    if result.status != "ok":
        return
    reported = metric in result.reported_metrics
    if metric in ONCE and not reported:
        parts = estimates.process_values(result, *ONCE[metric])
    elif metric in result.peaks and not reported:
        parts = [(result.peaks[metric],)]
    elif metric in ("step_time", FASTEST) and not reported:
        parts = [tuple(p.values.tolist()) for p in estimates.processes(result.measured_only())]
        parts = [(min(part),) for part in parts if part] if metric == FASTEST else parts
    else:
        parts = estimates.process_values(result, metric)
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


def _median(side: Side) -> Quantity:
    only = len(side.medians) == 1
    value, low, high, _ = (
        (side.medians[0], math.nan, math.nan, 1.0) if only else quantile(side.medians)
    )
    return Quantity(
        value=value,
        low=low,
        high=high,
        unit=side.unit,
        estimator="median of processes",
        n=len(side.medians),
    )


def _cut(first: int, second: int) -> int:
    """Ratios to cut on each side: P(U < cut) ≤ 2.5 % for Mann and Whitney's U."""
    pairs = first * second
    if pairs > MAX_EXACT_PAIRS:
        deviation = math.sqrt(pairs * (first + second + 1) / 12)
        return max(0, int(pairs / 2 - student(math.inf) * deviation))
    ways, total, cut = _ways(first, second), math.comb(first + second, first), 0
    below = 0
    while cut < len(ways) // 2 and (below := below + ways[cut]) / total <= LEVEL / 2:
        cut += 1
    return cut


@cache
def _ways(first: int, second: int) -> tuple[int, ...]:
    """Number of orders of two samples for each U (recurrence of Mann and Whitney, 1947)."""
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
    group: str = ""  # value of the requested grouping
    notes: tuple[str, ...] = ()  # names of other differences


class GroupMean(msgspec.Struct, frozen=True, kw_only=True):
    """The geometric mean of the ratios of several cases."""

    group: str  # "": all
    metric: str
    ratio: Quantity
    verdict: str
