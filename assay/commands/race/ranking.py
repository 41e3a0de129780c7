"""Results of heats → a ranking: the leader, contenders that are slower, and uncertain ones.

Successive elimination (Even-Dar, Mannor and Mansour 2006) over differences within heats, as in the
block races of Moore and Lee (1994): a contender is out once another is surely faster. Each of the
comparisons with the true best errs with probability ERROR over their number, however often one
looks, so that the best, or one that differs by less than the minimum, stays in with probability
1 - ERROR. One or two heats say so only beyond the stated process noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from assay.core.findings import Quantity
from assay.core.records import SCHEMA, Result
from assay.stats import generation, paired_ratio
from assay.stats.paired_ratio import Comparison, PairRatio

ERROR_RATE = 0.05
MAX_HEATS = 20  # heats
# The share of the error that each of the looks at 3 to 20 heats may have (by simulation).
LOOK_SHARE = 0.1
METRIC = "item_time"
METRICS = (METRIC, generation.FIRST, generation.NEXT, generation.TOKEN)  # times: less is better
INDIRECT_NOTE = "by way of others"


class HeatSummary(NamedTuple):
    """Times and ratios of the contenders of one heat."""

    logs: dict[str, float]  # of the time of an item, or of the metric, by contender
    ratios: dict[tuple[str, str], PairRatio]  # of the first over the second
    failures: dict[str, str]  # contender → how it failed


Heats = Sequence[HeatSummary]


def summarize_heat(heat: Mapping[str, Result], metric: str = METRIC) -> HeatSummary:
    times = {name: paired_ratio.values(result, metric) for name, result in heat.items()}
    pairs = {
        (first, second): paired_ratio.pair_ratio(heat[second], heat[first], metric)
        for first, second in itertools.permutations(heat, 2)
    }
    return HeatSummary(
        logs={
            name: float(np.median(np.log(values))) for name, values in times.items() if len(values)
        },
        ratios={names: pair for names, pair in pairs.items() if pair},
        failures={
            name: f"{result.status}: {result.reason}"
            for name, result in heat.items()
            if not len(times[name])
        },
    )


def decision_rule(
    contenders: int, minimum: float, metric: str = METRIC
) -> paired_ratio.DecisionRule:
    level = LOOK_SHARE * ERROR_RATE / max(1, contenders - 1)
    return paired_ratio.DecisionRule(metric, minimum, level=level)


def rank(
    names: Sequence[str], heats: Heats, wrong: Mapping[str, str], rules: paired_ratio.DecisionRule
) -> list[Place]:
    """All contenders: the leader, the others by their ratio to it, then those without a time."""
    logs = relative_times(heats)
    sound = [name for name in names if name in logs and name not in wrong]
    beaten = {name: by for name in sound if (by := _find_faster(name, sound, heats, rules))}
    ahead = sorted((name for name in sound if name not in beaten), key=lambda name: logs[name])
    if not ahead and sound:  # cyclic by noise: none is out
        beaten, ahead = {}, sorted(sound, key=lambda name: logs[name])
    leader = ahead[0] if ahead else ""
    time = math.exp(np.mean([heat.logs[leader] for heat in heats if leader in heat.logs] or [0.0]))
    ratios = {name: _ratio_to_leader(name, leader, logs, heats, rules) for name in sound}
    order = sorted(sound, key=lambda name: (name != leader, ratios[name].value))
    return [
        Place(
            key=name,
            state="out" if name in beaten else "in",
            ratio=ratios[name],
            time=time * ratios[name].value,
            heats=sum(name in heat.logs for heat in heats),
            reason=f"slower than {beaten[name]}" if name in beaten else "",
        )
        for name in order
    ] + [_place_without_time(name, heats, wrong) for name in names if name not in order]


def undecided_contenders(
    places: Sequence[Place], heats: Heats, rules: paired_ratio.DecisionRule
) -> list[str]:
    """Contenders that are in but not yet known to equal the leader; fewest heats first."""
    leader, *others = [place.key for place in places if place.state == "in"] or [""]
    candidates = []
    for name in others:
        comparison = compare_contenders(name, leader, heats, rules)
        if comparison.verdict != "same" and comparison.ratio.n < MAX_HEATS:
            candidates.append((comparison.ratio.n, name))
    return [name for _, name in sorted(candidates, key=lambda pair: pair[0])]


def next_heat(
    places: Sequence[Place], heats: Heats, rules: paired_ratio.DecisionRule, warm: int
) -> list[str]:
    """The leader, contenders that have not run, then uncertain ones; empty when decided."""
    leader = [place.key for place in places if place.state == "in"][:1]
    others = [place.key for place in places if place.state == "untried"]
    others += undecided_contenders(places, heats, rules)
    return [*leader, *others[: warm - len(leader)]] if others else []


def compare_contenders(
    first: str, second: str, heats: Heats, rules: paired_ratio.DecisionRule
) -> Comparison:
    """Compare two contenders by the heats that both ran in."""
    pairs = [heat.ratios[first, second] for heat in heats if (first, second) in heat.ratios]
    return paired_ratio.decide(tuple(pairs), rules)


def relative_times(heats: Heats) -> dict[str, float]:
    """Logarithms of times without the effect of each heat: contender plus heat, least squares."""
    rows = [(name, n, log) for n, heat in enumerate(heats) for name, log in heat.logs.items()]
    names = list(dict.fromkeys(name for name, _, _ in rows))
    design = np.zeros((len(rows), len(names) + len(heats)))
    for row, (name, number, _) in enumerate(rows):
        design[row, names.index(name)] = design[row, len(names) + number] = 1.0
    solution, *_ = np.linalg.lstsq(design, np.array([log for _, _, log in rows]), rcond=None)
    return dict(zip(names, solution.tolist(), strict=False))


def is_settled(pairs: Sequence[PairRatio], rules: paired_ratio.DecisionRule) -> bool:
    """Whether more turns in this heat add little: each pair is decided or precise."""
    return all(
        pair.error < rules.minimum / 4
        or paired_ratio.decide((pair,), rules).verdict != "cannot-tell"
        for pair in pairs
    )


def _find_faster(
    name: str, others: Sequence[str], heats: Heats, rules: paired_ratio.DecisionRule
) -> str:
    for other in others:
        if other != name and compare_contenders(name, other, heats, rules).verdict == "slower":
            return other
    return ""


def _ratio_to_leader(
    name: str,
    leader: str,
    logs: Mapping[str, float],
    heats: Heats,
    rules: paired_ratio.DecisionRule,
) -> Quantity:
    if name == leader:
        return Quantity(value=1.0, low=1.0, high=1.0, unit="", estimator="the leader", n=0)
    comparison = compare_contenders(name, leader, heats, rules)
    if comparison.ratio.n:
        return comparison.ratio
    value = math.exp(logs[name] - logs[leader])
    return Quantity(value=value, low=0.0, high=math.inf, unit="", estimator=INDIRECT_NOTE, n=0)


def _place_without_time(name: str, heats: Heats, wrong: Mapping[str, str]) -> Place:
    """A contender without a time that counts."""
    ends = [heat.failures[name] for heat in heats if name in heat.failures]
    nothing = Quantity(value=math.nan, low=0.0, high=math.inf, unit="", estimator="none", n=0)
    if name in wrong:
        ran = sum(name in heat.logs for heat in heats)
        return Place(key=name, state="wrong", ratio=nothing, heats=ran, reason=wrong[name])
    if ends:
        return Place(key=name, state="failed", ratio=nothing, heats=len(ends), reason=ends[-1])
    return Place(key=name, state="untried", ratio=nothing, heats=0)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A contender in the ranking."""

    key: str
    state: Literal["in", "out", "failed", "wrong", "untried"]
    ratio: Quantity  # its time of an item over the leader's
    time: float = math.nan  # seconds: that of the leader, times the ratio
    heats: int
    reason: str = ""


class Race(msgspec.Struct, frozen=True, kw_only=True):
    """The ranking of a race so far; the leader is the first of `places`."""

    places: tuple[Place, ...]
    metric: str
    minimum: float  # two that differ by less are equally good
    heats: int
    ended: str = ""  # why it stopped, in words; "": it goes on
    command: str = ""  # runs the leader again
    notes: tuple[str, ...] = ()
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["race"] = "race"
