"""Which of several results is the fastest, where that can be said.

The rule of `compare` for two sets: with fewer than four processes a side the interval is widened by
the noise between processes, since one process keeps its speed for as long as it runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from assay.core.findings import Quantity, SummarizedResult
from assay.stats.compare_sets import Side, difference, values_side
from assay.stats.intervals import quantile, student

MIN_EFFECTIVE = 10  # effective samples of a result, over its processes
RATE = "throughput"


class Ranking(NamedTuple):
    """The result with the highest rate, and the nearest that it may not beat, or else the next."""

    first: int
    other: int
    ratio: float  # of their rates
    certain: bool  # the first is faster than every other
    few: bool  # of effective samples, of one of both
    processes: tuple[int, int]


class _Contender(NamedTuple):
    side: Side
    effective: float


def rank(readings: Mapping[int, SummarizedResult], names: Sequence[str]) -> Ranking | None:
    """The fastest by items per second; None if there are not two of different names."""
    rates = {row: reading.measured_only[RATE].value for row, reading in readings.items()}
    order = sorted(rates, key=lambda row: -rates[row])
    others = [row for row in order if names[row] != names[order[0]]]
    if not others:
        return None
    contenders = {row: _contender(readings[row]) for row in (order[0], *others)}
    first = contenders[order[0]]
    ties = [row for row in others if not _is_faster(first, contenders[row])]
    other = (ties or others)[0]
    both = first, contenders[other]
    return Ranking(
        first=order[0],
        other=other,
        ratio=rates[order[0]] / rates[other],
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
