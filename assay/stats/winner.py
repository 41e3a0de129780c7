"""Which of several results is the fastest, where that can be said.

The rule of `compare` for two sets: with fewer than four processes a side the interval is widened by
the noise between processes, since one process keeps its speed for as long as it runs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assay.core.findings import Mismatch, Quantity, Ranking, SummarizedResult
from assay.stats.compare_sets import Side, difference, values_side
from assay.stats.intervals import quantile, student

MIN_EFFECTIVE = 10  # effective samples of a result, over its processes
RATE = "throughput"


class _Contender(NamedTuple):
    side: Side
    effective: float


def rank(
    readings: Iterable[SummarizedResult], mismatches: Sequence[Mismatch] = ()
) -> Ranking | None:
    """The fastest with right outputs, by items per second; None if there are not two cases, several
    workloads, or the pairs of a comparison, which has its own verdict."""
    wrong = {result for mismatch in mismatches for result in mismatch.wrong}
    rated = [reading for reading in readings if RATE in reading.measured_only]
    if len({reading.result.case.workload for reading in rated}) != 1:
        return None
    rated = [reading for reading in rated if reading.result.id not in wrong]
    rated.sort(key=lambda reading: -reading.measured_only[RATE].value)
    others = [each for each in rated if each.result.case.key != rated[0].result.case.key]
    if not others or any("pair" in each.result.tags for each in rated):
        return None
    first = _contender(rated[0])
    contenders = [_contender(each) for each in others]
    ties = [place for place, each in enumerate(contenders) if not _is_faster(first, each)]
    place = ties[0] if ties else 0
    both = first, contenders[place]
    rates = (each.measured_only[RATE].value for each in (rated[0], others[place]))
    return Ranking(
        first=rated[0].result.id,
        other=others[place].result.id,
        ratio=operator.truediv(*rates),
        certain=not ties,
        few=min(each.effective for each in both) < MIN_EFFECTIVE,
        processes=(len(both[0].side.medians), len(both[1].side.medians)),
    )


def _is_faster(first: _Contender, other: _Contender) -> bool:
    if min(first.effective, other.effective) < MIN_EFFECTIVE:
        return False
    return difference("", RATE, other.side, first.side).verdict == "faster"


def _contender(reading: SummarizedResult) -> _Contender:
    """By its samples, or by the interval of its rate where it has none of steps."""
    rate = reading.measured_only[RATE]
    items = max(1, reading.result.items)
    parts = [[items / value for value in part] for part in reading.steady_values() if part]
    side = values_side(parts, rate.unit)
    if side is None:
        return _Contender(Side([rate.value], _error(rate), rate.unit), float(rate.n))
    return _Contender(side, sum(quantile(part).effective for part in parts))


def _error(rate: Quantity) -> float:
    """Standard error of the logarithm; without an interval it is not known."""
    if not 0 < rate.low <= rate.high:
        return math.inf
    return math.log(rate.high / rate.low) / 2 / student(math.inf)
