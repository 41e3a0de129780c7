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

MINIMUM = 0.01  # the smallest change that is called one
PROCESS_NOISE = 0.25  # two identical processes may differ so much; taken for granted below 3 pairs
FEWEST_TURNS, MOST_TURNS = 7, 100
ENOUGH = 8  # pairs; of fewer the spread between them often seems to be none, however large it is
FASTEST = "min"  # the metric: the fastest step
AGAIN = 3  # turns that come near to a process' fastest step before it is taken for its fastest
IN_TURNS = "in turns"  # the tag `order` of results whose turns alternated
ONCE: dict[str, tuple[str, Phase]] = {
    "first_step": ("step_time", "first"),
    "open_time": ("open_time", "open"),
}
ESTIMATOR = "geometric mean over pairs of processes, 98 % interval at every look"
FEW = "one or two pairs, their interval widened by the process noise of 25 %"


class Terms(NamedTuple):
    """What is compared, and what counts as a change."""

    metric: str
    minimum: float = MINIMUM
    higher_is_better: bool = False
    level: float = sequential.LEVEL  # of each look


def compare(baseline: Sequence[Result], candidate: Sequence[Result], terms: Terms) -> Comparison:
    """The candidate over the baseline; results of one place in both belong to one pair."""
    pairs = tuple(
        pair
        for one, other in zip(baseline, candidate, strict=False)
        if (pair := pair_ratio(one, other, terms.metric))
    )
    sides = (baseline, candidate)
    return msgspec.structs.replace(
        judged(pairs, terms),
        baseline=baseline[0].case.key if baseline else "",
        candidate=candidate[0].case.key if candidate else "",
        middles=tuple(_middle(side, terms.metric) for side in sides),
        unit=_unit(sides, terms.metric),
    )


def judged(pairs: tuple[PairRatio, ...], terms: Terms) -> Comparison:
    found = _interval(pairs, terms.level)
    ratio = Quantity(
        value=math.exp(found.middle),
        low=math.exp(found.low),
        high=math.exp(found.high) if found.high < 700 else math.inf,
        unit="",
        estimator=ESTIMATOR if len(pairs) >= sequential.FEWEST else FEW,
        n=len(pairs),
    )
    return Comparison(
        metric=terms.metric,
        verdict=verdict(ratio, terms),
        ratio=ratio,
        pairs=pairs,
        minimum=terms.minimum,
        spread=found.spread,
    )


def verdict(ratio: Quantity, terms: Terms) -> Verdict:
    """A change has to be clear of 1 by the interval, and as large as the minimum by the value."""
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
    """Turns taken together are compared turn by turn; else the medians are. None without values.

    The fastest steps are those of whole processes: another program may slow down several turns.
    """
    one, other = values(baseline, metric), values(candidate, metric)
    if not len(one) or not len(other):
        return None
    if _in_turns(baseline) and metric == FASTEST and metric not in baseline.reported:
        first, second = (np.sort(np.log(part))[:AGAIN] for part in (one, other))
        middle = float(second[0] - first[0])
        half_width = math.hypot(first[-1] - first[0], second[-1] - second[0])
    elif _in_turns(baseline) and len(one) == len(other):
        found = quantile(np.log(other) - np.log(one))
        middle, half_width = found.value, found.half_width
    elif len(one) == len(other) == 1:  # nothing is known of the error of one value
        middle, half_width = float(np.log(other[0]) - np.log(one[0])), 0.0
    else:
        both = [quantile(np.log(part)) for part in (one, other)]
        middle = both[1].value - both[0].value
        half_width = math.hypot(*(part.half_width for part in both if part.effective > 1))
    return PairRatio(
        ratio=math.exp(middle),
        error=0.0 if math.isnan(half_width) else half_width / student(math.inf),
        turns=min(len(one), len(other)),
        baseline=baseline.id,
        candidate=candidate.id,
    )


def values(result: Result, metric: str) -> Array:
    """What can be compared of a result: each turn's median where turns were taken, else all.

    A metric was sampled, is made from one (item_time, min, decode_throughput), was reported once
    (first_step, open_time), or was seen by a monitor.
    """
    if result.status != "ok":
        return usable(())
    reported = metric in result.reported
    if metric in ONCE and not reported:
        return usable(result.values(*ONCE[metric]))
    if metric in result.peaks and not reported:
        return usable((result.peaks[metric],))
    if metric == FASTEST and not reported:
        return turns(result, "step_time", FASTEST)
    per_item = metric == "item_time" and not reported
    text = metric in generation.TIMED and not reported
    sampled = "step_time" if per_item else generation.TIMED[metric] if text else metric
    found = turns(result, sampled) if _in_turns(result) else usable(result.values(sampled))
    if text:
        return generation.of_rows(metric, found, result)
    return found / max(1, result.items) if per_item else found


def turns(result: Result, metric: str, compared: str = "") -> Array:
    """One value for each turn."""
    parts = [p.values for p in result.samples if p.metric == metric and p.phase == "steady"]
    return usable([of_turn(part, compared) for part in parts])


def of_turn(values: Sequence[float], compared: str = "") -> float:
    """The median of a turn's samples; the fastest, where that is what is compared."""
    return float(np.min(values) if compared == FASTEST else np.median(values))


def fastest_found(turns: Sequence[float], minimum: float) -> bool:
    """Whether so many turns of a process come near to its fastest that none will be much faster."""
    ordered = sorted(turns)
    return len(ordered) >= AGAIN and ordered[AGAIN - 1] <= ordered[0] * (1 + minimum)


def pairs_needed(comparison: Comparison) -> int:
    """How many pairs would probably decide, if the ratio and spread are what they seem; 0: none."""
    if comparison.ratio.n < sequential.FEWEST:
        return 0
    effect, least = abs(math.log(comparison.ratio.value)), math.log1p(comparison.minimum)
    distance = effect if effect >= least else least - effect
    for count in range(comparison.ratio.n + 1, sequential.MOST + 1):
        if sequential.reach(comparison.spread, count) < distance:
            return count
    return 0


def turns_wanted(pairs: Sequence[PairRatio], opening: float, turn: float) -> int:
    """How many turns of `turn` seconds a pair should take that costs `opening` seconds to open.

    The optimum of two-stage sampling (Cochran 1977, 10.6): the ratio of spreads within and between
    pairs, times the root of the ratio of costs. Before the spread between is known: as long as
    opening takes, or shorter.
    """
    wanted = opening / turn
    if len(pairs) >= sequential.FEWEST:
        within = float(np.mean([pair.error**2 * pair.turns for pair in pairs]))
        between = float(np.var([math.log(pair.ratio) for pair in pairs], ddof=1))
        between -= float(np.mean([pair.error**2 for pair in pairs]))
        share = within / between if between > within / MOST_TURNS**2 else math.inf
        best = math.sqrt(share * opening / turn)
        wanted = best if len(pairs) >= ENOUGH else min(best, wanted)
    return int(min(max(wanted, FEWEST_TURNS), MOST_TURNS))


def _middle(results: Sequence[Result], metric: str) -> float:
    """Over processes, for the eye: the ratio is not made from it."""
    found = [values(result, metric) for result in results]
    logs = [float(np.median(np.log(part))) for part in found if len(part)]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def _unit(sides: Iterable[Sequence[Result]], metric: str) -> str:
    """Of the samples of that name; what assay itself makes is in seconds."""
    for result in itertools.chain.from_iterable(sides):
        for part in result.samples:
            if part.metric == metric:
                return part.unit
        if metric in result.peaks:
            return ""
    return "items/s" if metric == generation.RATE else "s"


def _in_turns(result: Result) -> bool:
    return result.tags.get("order") == IN_TURNS


def _interval(pairs: Sequence[PairRatio], level: float) -> sequential.Interval:
    if not pairs:
        return sequential.Interval(math.nan, math.nan, math.nan)
    found = sequential.interval([math.log(pair.ratio) for pair in pairs], level)
    if len(pairs) >= sequential.FEWEST:
        return found
    error = math.sqrt(sum(pair.error**2 for pair in pairs)) / len(pairs)
    allowance = math.log1p(PROCESS_NOISE) + two_sided(level, 1000) * error
    return found._replace(reach=allowance)


Verdict = Literal["faster", "slower", "same", "cannot-tell"]


class PairRatio(msgspec.Struct, frozen=True, kw_only=True):
    """Two contenders in one pair of fresh processes; the ratio is candidate over baseline."""

    ratio: float
    error: float  # standard error of its logarithm, within the pair
    turns: int
    baseline: str  # ids of the results
    candidate: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Which of two is faster, by how much, how sure; the ratio is candidate over baseline."""

    baseline: str = ""
    candidate: str = ""
    metric: str
    unit: str = ""
    verdict: Verdict
    ratio: Quantity
    pairs: tuple[PairRatio, ...]
    minimum: float  # what a smaller change is not called
    spread: float  # standard deviation of the pairs' logarithms: process-to-process noise
    middles: tuple[float, ...] = ()  # of baseline and candidate, over their processes
    ended: str = ""  # why it stopped, in words; "": it goes on
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()  # contenders that did not end well, in words
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["comparison"] = "comparison"
