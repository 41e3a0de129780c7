"""Which of many revisions made it slower, when each comparison is noisy.

Every revision may be the first changed one; each comparison with the good end moves the
probabilities by its likelihood, and the next one is made where they part in half (Horstein 1963;
Waeber, Frazier and Henderson 2013). So a doubtful comparison is repeated by itself, and what is
told in the end has a probability.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from assay.core.changes import Tried
from assay.stats import student
from assay.stats.sequential import FEWEST

SURE = 0.02  # how often a comparison may be wrong altogether, whatever its interval says
_QUANTILE = 2.326  # of the 98 % interval that a comparison has
_SLACK = 0.15  # of the effect: it need not be the same at each revision


class Weighed(NamedTuple):
    """One comparison of a revision with the good end, in logarithms."""

    place: int  # of the revision; the good end is 0
    change: float
    error: float  # its standard error
    degrees: float = math.inf  # of freedom of that


def measured(one: Tried) -> Weighed:
    """Its error is that of the mean of its pairs. Its interval says less: that holds at every look
    at the comparison, so that of few pairs it is several times as wide as the error warrants."""
    change = math.log(one.ratio)
    if one.pairs >= FEWEST and one.spread > 0:
        return Weighed(one.place, change, one.spread / math.sqrt(one.pairs), one.pairs - 1)
    width = math.log(one.high) - math.log(one.low)
    return Weighed(one.place, change, width / (2 * _QUANTILE))


def probabilities(count: int, effect: float, seen: Sequence[Weighed]) -> list[float]:
    """That revision 1, 2, … `count` is the first changed one; `effect` is that of the bad end."""
    logs = [0.0] * count
    for one in seen:
        changed, same = (math.log(_likelihood(one, mean, effect)) for mean in (effect, 0.0))
        for first in range(1, count + 1):
            logs[first - 1] += changed if one.place >= first else same
    top = max(logs)
    weights = [math.exp(value - top) for value in logs]
    return [weight / sum(weights) for weight in weights]


def decisive(one: Weighed, effect: float) -> bool:
    """Whether it says changed or same as surely as a single comparison is believed."""
    changed, same = (_likelihood(one, mean, effect) for mean in (effect, 0.0))
    return max(changed, same) * SURE > min(changed, same)


def _likelihood(one: Weighed, mean: float, effect: float) -> float:
    """Student's about what is expected, and now and then anything at all."""
    error = math.hypot(one.error, _SLACK * effect)
    density = student.density((one.change - mean) / error, one.degrees) / error
    return (1 - SURE) * density + SURE / (4 * abs(effect))


def most_even_split(chances: Sequence[float], skipped: Collection[int]) -> int:
    """The revision to compare next: where the chances part most evenly, of those that can be
    measured; 0 where there is none left. The last one is the bad end, which was measured."""
    below, best, found = 0.0, -1.0, 0
    for place in range(1, len(chances)):
        below += chances[place - 1]
        worth = min(below, 1 - below)
        if place not in skipped and worth > best:
            best, found = worth, place
    return found if best > 1e-9 else 0


def suspects(chances: Sequence[float], skipped: Collection[int]) -> tuple[list[int], float]:
    """The likeliest first changed revision and its probability; with those before it that could
    not be measured, for they cannot be told from it."""
    groups: list[list[int]] = [[]]
    for place in range(1, len(chances) + 1):
        groups[-1].append(place)
        if place not in skipped:
            groups.append([])
    best = max((g for g in groups if g), key=lambda g: sum(chances[p - 1] for p in g))
    return best, sum(chances[place - 1] for place in best)
