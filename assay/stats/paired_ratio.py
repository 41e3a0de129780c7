"""Results of pairs of fresh processes → one ratio, its interval and a verdict."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from assay.core.findings import Quantity
from assay.core.records import SCHEMA, Phase, Result
from assay.stats import generation, sequential
from assay.stats.estimates import usable
from assay.stats.intervals import Array, quantile, student
from assay.stats.student import two_sided

MIN_EFFECT = 0.01  # smallest relevant change
PROCESS_NOISE = 0.25  # assumed difference of identical processes below 3 pairs
MIN_TURNS, MAX_TURNS = 7, 100
ENOUGH_PAIRS = 8  # pairs; with fewer, the spread between them is often underestimated
FASTEST = "min"  # the metric: the fastest step
MIN_REPEATS = 3  # turns near a process' fastest step before it is accepted
INTERLEAVED = "in turns"  # tag `order` of interleaved results
ONCE: dict[str, tuple[str, Phase]] = {
    "first_step": ("step_time", "first"),
    "open_time": ("open_time", "open"),
}
ESTIMATOR = "geometric mean over pairs of processes, 98 % interval at every look"
FEW = "one or two pairs, their interval widened by the process noise of 25 %"


class DecisionRule(NamedTuple):
    """Metric to compare, and the criterion of a change."""

    metric: str
    minimum: float = MIN_EFFECT
    higher_is_better: bool = False
    level: float = sequential.LEVEL  # of each look


def compare(
    baseline: Sequence[Result], candidate: Sequence[Result], terms: DecisionRule
) -> Comparison:
    """Candidate over baseline; results with the same index are a pair."""
    pairs = tuple(
        pair
        for first, second in zip(baseline, candidate, strict=False)
        if (pair := pair_ratio(first, second, terms.metric))
    )
    sides = (baseline, candidate)
    return msgspec.structs.replace(
        decide(pairs, terms),
        baseline=baseline[0].case.key if baseline else "",
        candidate=candidate[0].case.key if candidate else "",
        middles=tuple(_middle(side, terms.metric) for side in sides),
        unit=_unit(sides, terms.metric),
    )


def decide(pairs: tuple[PairRatio, ...], terms: DecisionRule) -> Comparison:
    interval = _interval(pairs, terms.level)
    ratio = Quantity(
        value=math.exp(interval.middle),
        low=math.exp(interval.low),
        high=math.exp(interval.high) if interval.high < 700 else math.inf,
        unit="",
        estimator=ESTIMATOR if len(pairs) >= sequential.MIN_PAIRS else FEW,
        n=len(pairs),
    )
    return Comparison(
        metric=terms.metric,
        verdict=verdict(ratio, terms),
        ratio=ratio,
        pairs=pairs,
        minimum=terms.minimum,
        spread=interval.spread,
    )


def verdict(ratio: Quantity, terms: DecisionRule) -> Verdict:
    """A change needs an interval that excludes 1 and a value beyond the minimum."""
    margin = 1 + terms.minimum
    if not ratio.n:
        return "cannot-tell"
    if ratio.low >= 1 / margin and ratio.high <= margin:
        return "same"
    if ratio.low > 1 and ratio.value >= margin:
        return "faster" if terms.higher_is_better else "slower"
    if ratio.high < 1 and ratio.value <= 1 / margin:
        return "slower" if terms.higher_is_better else "faster"
    return "cannot-tell"


def pair_ratio(baseline: Result, candidate: Result, metric: str) -> PairRatio | None:
    """Ratio of interleaved turns by turn, otherwise of medians. None without values.

    Fastest steps are compared by process, as another program may slow down several turns.
    """
    first_values, second_values = values(baseline, metric), values(candidate, metric)
    if not len(first_values) or not len(second_values):
        return None
    if _is_interleaved(baseline) and metric == FASTEST and metric not in baseline.reported_metrics:
        first, second = (
            np.sort(np.log(part))[:MIN_REPEATS] for part in (first_values, second_values)
        )
        middle = float(second[0] - first[0])
        half_width = math.hypot(first[-1] - first[0], second[-1] - second[0])
    elif _is_interleaved(baseline) and len(first_values) == len(second_values):
        quotient = quantile(np.log(second_values) - np.log(first_values))
        middle, half_width = quotient.value, quotient.half_width
    elif len(first_values) == len(second_values) == 1:  # nothing is known of the error of one value
        middle, half_width = float(np.log(second_values[0]) - np.log(first_values[0])), 0.0
    else:
        both = [quantile(np.log(part)) for part in (first_values, second_values)]
        middle = both[1].value - both[0].value
        half_width = math.hypot(*(part.half_width for part in both if part.effective > 1))
    return PairRatio(
        ratio=math.exp(middle),
        error=0.0 if math.isnan(half_width) else half_width / student(math.inf),
        turns=min(len(first_values), len(second_values)),
        baseline=baseline.id,
        candidate=candidate.id,
    )


def values(result: Result, metric: str) -> Array:
    """Values to compare: medians of turns if interleaved, else all values.

    A metric is sampled, derived (item_time, min, decode_throughput), reported once (first_step,
    open_time), or a peak of a monitor.
    """
    if result.status != "ok":
        return usable(())
    reported = metric in result.reported_metrics
    if metric in ONCE and not reported:
        return usable(result.values(*ONCE[metric]))
    if metric in result.peaks and not reported:
        return usable((result.peaks[metric],))
    if metric == FASTEST and not reported:
        return turns(result, "step_time", FASTEST)
    per_item = metric == "item_time" and not reported
    text = metric in generation.TIMED and not reported
    sampled = "step_time" if per_item else generation.TIMED[metric] if text else metric
    samples = turns(result, sampled) if _is_interleaved(result) else usable(result.values(sampled))
    if text:
        return generation.convert_times(metric, samples, result)
    return samples / max(1, result.items) if per_item else samples


def turns(result: Result, metric: str, compared: str = "") -> Array:
    """One value for each turn."""
    parts = [p.values for p in result.samples if p.metric == metric and p.phase == "steady"]
    return usable([turn_value(part, compared) for part in parts])


def turn_value(values: Sequence[float], compared: str = "") -> float:
    """Median of a turn's samples, or the fastest if that is compared."""
    return float(np.min(values) if compared == FASTEST else np.median(values))


def has_fastest(turns: Sequence[float], minimum: float) -> bool:
    """Whether enough turns are near the fastest to expect none much faster."""
    ordered = sorted(turns)
    return len(ordered) >= MIN_REPEATS and ordered[MIN_REPEATS - 1] <= ordered[0] * (1 + minimum)


def required_pairs(comparison: Comparison) -> int:
    """Pairs that would probably decide, given the current ratio and spread; 0: not known."""
    if comparison.ratio.n < sequential.MIN_PAIRS:
        return 0
    effect, margin = abs(math.log(comparison.ratio.value)), math.log1p(comparison.minimum)
    distance = effect if effect >= margin else margin - effect
    for count in range(comparison.ratio.n + 1, sequential.MAX_PAIRS + 1):
        if sequential.reach(comparison.spread, count) < distance:
            return count
    return 0


def recommended_turns(pairs: Sequence[PairRatio], opening: float, turn: float) -> int:
    """Number of turns of `turn` seconds for a pair that takes `opening` seconds to open.

    The optimum of two-stage sampling (Cochran 1977, 10.6): the ratio of spreads within and between
    pairs, times the root of the ratio of costs. With few pairs: at most the time of opening.
    """
    count = opening / turn
    if len(pairs) >= sequential.MIN_PAIRS:
        within = float(np.mean([pair.error**2 * pair.turns for pair in pairs]))
        between = float(np.var([math.log(pair.ratio) for pair in pairs], ddof=1))
        between -= float(np.mean([pair.error**2 for pair in pairs]))
        share = within / between if between > within / MAX_TURNS**2 else math.inf
        best = math.sqrt(share * opening / turn)
        count = best if len(pairs) >= ENOUGH_PAIRS else min(best, count)
    return int(min(max(count, MIN_TURNS), MAX_TURNS))


def _middle(results: Sequence[Result], metric: str) -> float:
    """Mean over processes, for display only."""
    parts = [values(result, metric) for result in results]
    logs = [float(np.median(np.log(part))) for part in parts if len(part)]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _unit(sides: Iterable[Sequence[Result]], metric: str) -> str:
    """Unit of the samples; derived metrics are in seconds."""
    for result in itertools.chain.from_iterable(sides):
        for part in result.samples:
            if part.metric == metric:
                return part.unit
        if metric in result.peaks:
            return ""
    return "items/s" if metric == generation.RATE else "s"


def _is_interleaved(result: Result) -> bool:
    return result.tags.get("order") == INTERLEAVED


def _interval(pairs: Sequence[PairRatio], level: float) -> sequential.Interval:
    if not pairs:
        return sequential.Interval(math.nan, math.nan, math.nan)
    interval = sequential.interval([math.log(pair.ratio) for pair in pairs], level)
    if len(pairs) >= sequential.MIN_PAIRS:
        return interval
    error = math.sqrt(sum(pair.error**2 for pair in pairs)) / len(pairs)
    allowance = math.log1p(PROCESS_NOISE) + two_sided(level, 1000) * error
    return interval._replace(reach=allowance)


Verdict = Literal["faster", "slower", "same", "cannot-tell"]


class PairRatio(msgspec.Struct, frozen=True, kw_only=True):
    """Ratio of one pair of fresh processes, candidate over baseline."""

    ratio: float
    error: float  # standard error of its logarithm, within the pair
    turns: int
    baseline: str  # ids of the results
    candidate: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of two contenders; the ratio is candidate over baseline."""

    baseline: str = ""
    candidate: str = ""
    metric: str
    unit: str = ""
    verdict: Verdict
    ratio: Quantity
    pairs: tuple[PairRatio, ...]
    minimum: float  # smallest relevant change
    spread: float  # standard deviation of the pairs' logarithms: process-to-process noise
    middles: tuple[float, ...] = ()  # of baseline and candidate, over their processes
    ended: str = ""  # why it stopped; "": running
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()  # messages of failed contenders
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["comparison"] = "comparison"
