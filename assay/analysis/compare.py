"""Results of pairs of fresh processes → one ratio, its interval and a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.analysis import sequence
from assay.analysis.estimates import usable
from assay.analysis.intervals import quantile, student
from assay.findings import Comparison, PairRatio, Quantity, Verdict
from assay.records import Result

MINIMUM = 0.01  # the smallest change that is called one
PROCESS_NOISE = 0.1  # two identical processes may differ so much; taken for granted below 3 pairs
ESTIMATOR = "geometric mean over pairs of processes, 98 % interval at every look"
FEW = "one or two pairs, their interval widened by the process noise of 10 %"


class Terms(NamedTuple):
    """What is compared, and what counts as a change."""

    metric: str
    minimum: float = MINIMUM
    higher_is_better: bool = False


def compare(baseline: Sequence[Result], candidate: Sequence[Result], terms: Terms) -> Comparison:
    """The candidate over the baseline; results of one place in both belong to one pair."""
    pairs = tuple(
        pair
        for one, other in zip(baseline, candidate, strict=False)
        if (pair := pair_ratio(one, other, terms.metric))
    )
    names = [results[0].case.key if results else "" for results in (baseline, candidate)]
    return judged(names, pairs, terms)


def judged(names: Sequence[str], pairs: tuple[PairRatio, ...], terms: Terms) -> Comparison:
    found = _interval(pairs)
    ratio = Quantity(
        value=math.exp(found.middle),
        low=math.exp(found.low),
        high=math.exp(found.high) if found.high < 700 else math.inf,
        unit="",
        estimator=ESTIMATOR if len(pairs) >= sequence.FEWEST else FEW,
        n=len(pairs),
    )
    return Comparison(
        baseline=names[0],
        candidate=names[1],
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
    """Turns taken together are compared turn by turn; else the medians are. None without values."""
    one, other = values(baseline, metric), values(candidate, metric)
    good = [usable(found) for found in (one, other)]
    if not len(good[0]) or not len(good[1]):
        return None
    together = baseline.tags.get("order") == "together" and len(one) == len(other)
    if together and len(good[0]) == len(good[1]) == len(one):
        logs = quantile(np.log(good[1]) - np.log(good[0]))
        middle, error, turns = logs.value, logs.half_width, len(one)
    else:
        both = [quantile(np.log(found)) for found in good]
        middle = both[1].value - both[0].value
        error = math.hypot(both[0].half_width, both[1].half_width)
        turns = min(len(found) for found in good)
    return PairRatio(
        ratio=math.exp(middle),
        error=error / student(math.inf),
        turns=turns,
        baseline=baseline.id,
        candidate=candidate.id,
    )


def values(result: Result, metric: str) -> tuple[float, ...]:
    """Of a metric that was sampled, made from one (item_time), told once (first_step, open_time),
    or seen by a monitor."""
    if result.status != "ok":
        return ()
    if metric == "item_time":
        return tuple(value / max(1, result.items) for value in result.values("step_time"))
    if metric == "first_step":
        return result.values("step_time", "first")
    if metric == "open_time":
        return result.values("open_time", "open")
    peak = result.peaks.get(metric)
    return result.values(metric) or (() if peak is None else (peak,))


def pairs_needed(comparison: Comparison) -> int:
    """How many pairs would probably decide, if the ratio and spread are what they seem; 0: none."""
    if comparison.ratio.n < sequence.FEWEST:
        return 0
    effect, least = abs(math.log(comparison.ratio.value)), math.log1p(comparison.minimum)
    distance = effect if effect >= least else least - effect
    for count in range(comparison.ratio.n + 1, sequence.MOST + 1):
        if sequence.reach(comparison.spread, count) < distance:
            return count
    return 0


def turns_wanted(pairs: Sequence[PairRatio], opening: float, turn: float) -> int:
    """How many turns of `turn` seconds a pair should take that costs `opening` seconds to open.

    The optimum of two-stage sampling (Cochran 1977, 10.6): the ratio of spreads within and between
    pairs, times the root of the ratio of costs. Before the spread between is known: as long as
    opening takes.
    """
    if len(pairs) < sequence.FEWEST:
        wanted = opening / turn
    else:
        within = float(np.mean([pair.error**2 * pair.turns for pair in pairs]))
        between = float(np.var([math.log(pair.ratio) for pair in pairs], ddof=1))
        between -= float(np.mean([pair.error**2 for pair in pairs]))
        share = within / between if between > within / MOST_TURNS**2 else math.inf
        wanted = math.sqrt(share * opening / turn)
    return int(min(max(wanted, FEWEST_TURNS), MOST_TURNS))


FEWEST_TURNS, MOST_TURNS = 7, 100


def _interval(pairs: Sequence[PairRatio]) -> sequence.Interval:
    if not pairs:
        return sequence.Interval(math.nan, math.nan, math.nan)
    found = sequence.interval([math.log(pair.ratio) for pair in pairs])
    if len(pairs) >= sequence.FEWEST:
        return found
    error = math.sqrt(sum(pair.error**2 for pair in pairs)) / len(pairs)
    allowance = math.log1p(PROCESS_NOISE) + sequence.two_sided(sequence.LEVEL, 1000) * error
    return found._replace(reach=allowance)
