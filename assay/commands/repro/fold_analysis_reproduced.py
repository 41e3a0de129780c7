"""A result and its repetition → how far they may lie apart, and whether that is more than noise.

They were measured at two times, so three things make them differ without a reason: processes,
hours, and the machine itself. docs/design/compare.md says how each is estimated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.core.records import Result
from assay.stats import compare_sets
from assay.stats.intervals import Array
from assay.stats.paired_ratio import PROCESS_NOISE
from assay.stats.student import two_sided

LEVEL = 0.01  # of "it differs" where it does not, for one result
MINIMUM = 0.01  # a smaller difference is none
FEWEST_DEGREES = 3  # degrees of freedom; of fewer, how much processes differ is not known
SERIES = 10  # kept results of the case that tell how much one hour differs from the next
_NORMAL = 1.4826  # makes a median absolute deviation a standard deviation


class Deviation(NamedTuple):
    """The new time over the old, and what it may be."""

    value: float
    low: float
    high: float
    spread: float  # standard deviation of the logarithm, from process to process; nan: not known
    processes: int  # of the side with fewer

    @property
    def within(self) -> float:
        """The largest difference that it may be."""
        return max(self.high - 1, 1 - self.low)

    def differs(self, machine: float = 0.0) -> bool:
        """Whether it is more than noise, and more than the machine's own change (a logarithm)
        explains, in whatever share of it the case may follow."""
        low, high = math.log(self.low), math.log(self.high)
        nothing = min(low, low - machine) <= 0 <= max(high, high - machine)
        return not nothing and abs(self.value - 1) > MINIMUM


def deviation(
    old: Sequence[float], new: Sequence[Sequence[float]], series: Sequence[float] = ()
) -> Deviation:
    """Of one value a process: `old` ones, and `new` ones of each time it was measured again.
    `series` are kept results of the same case on this machine, in the order of time."""
    first, blocks = np.log(old), [np.log(block) for block in new]
    second = np.concatenate(blocks)
    middle = float(second.mean() - first.mean())
    spread = _spread([first, *blocks])
    reach = math.hypot(_by_processes(first, second, spread), _by_blocks(blocks))
    reach = max(reach, _by_hours(series))
    return Deviation(
        math.exp(middle),
        math.exp(middle - reach),
        math.exp(min(middle + reach, 700.0)),
        spread[0],
        min(len(first), len(second)),
    )


def values(result: Result, metric: str, fastest: bool = False) -> list[float]:
    """One for each process: its median, or its fastest."""
    pick = np.min if fastest else np.median
    return [float(pick(part)) for part in compare_sets.processes(result, metric)]


def _spread(groups: Sequence[Array]) -> tuple[float, int]:
    """From process to process within a time, pooled, and its degrees of freedom."""
    degrees = sum(len(group) - 1 for group in groups)
    if not degrees:
        return math.nan, 0
    squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    return math.sqrt(squares / degrees), degrees


def _by_processes(first: Array, second: Array, spread: tuple[float, int]) -> float:
    """A prediction interval: both sides are draws of processes, the old one as well."""
    deviation, degrees = spread
    if degrees < FEWEST_DEGREES:
        return math.log1p(PROCESS_NOISE)
    error = deviation * math.sqrt(1 / len(first) + 1 / len(second))
    return two_sided(LEVEL, degrees) * error


def _by_blocks(blocks: Sequence[Array]) -> float:
    """What the machine moved by between two measurements now, it may have moved since then."""
    means = [float(block.mean()) for block in blocks]
    return max(means) - min(means)


def _by_hours(series: Sequence[float]) -> float:
    """Of two results at two times, from neighbours in the series: a shift in it moves few."""
    if len(series) < SERIES or min(series) <= 0:
        return 0.0
    steps = np.abs(np.diff(np.log(series)))
    return two_sided(LEVEL, len(steps)) * _NORMAL * float(np.median(steps))
