"""The steady values of a result, process by process, and the one estimate they make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.analysis.intervals import Array, Estimate, over_processes, quantile
from assay.analysis.warmup import find_steady
from assay.core.records import LONGEST_STEP, SHORTEST_STEP, Phase, Result

# share, and fewest samples for it to be told (MLPerf Inference rules: early stopping)
PERCENTILES = {"p50": (0.5, 1), "p90": (0.9, 64), "p99": (0.99, 662)}
NOTHING = Estimate(math.nan, math.nan, math.nan, 0.0)


class Process(NamedTuple):
    """What one process gave: its usable values from where they are steady."""

    values: Array
    verdict: str  # of warmup.find_steady
    unusable: int  # values that no step can take: not finite, not positive, longer than the case
    skipped: int = 0  # usable values before it was steady
    fastest: float = math.inf  # of all usable ones


def processes(result: Result, metric: str = "step_time") -> list[Process]:
    """The steady phase of every process that has one; a beginning that differs is cut off."""
    found = []
    for values in by_process(result, metric):
        good = usable(values, result.seconds or math.inf)
        start, verdict = find_steady(good)
        fastest = float(good.min(initial=math.inf))
        found.append(Process(good[start:], verdict, len(values) - len(good), start, fastest))
    return found


def by_process(result: Result, metric: str, phase: Phase = "steady") -> list[tuple[float, ...]]:
    """Raw values, in the order they were taken, a tuple for each process."""
    found: dict[int, tuple[float, ...]] = {}
    for part in result.samples:
        if part.metric == metric and part.phase == phase:
            found[part.process] = found.get(part.process, ()) + part.values
    return list(found.values())


def usable(values: Sequence[float], longest: float = math.inf) -> Array:
    """Values that a step can have taken: a clock may have jumped."""
    array = np.asarray(values, dtype=np.float64)
    return array[(array >= SHORTEST_STEP) & (array <= min(longest, LONGEST_STEP))]


def of_case(found: Sequence[Process]) -> Estimate:
    """Over processes where there are several; else of the only one."""
    with_values = [process.values for process in found if len(process.values)]
    if not with_values:
        return NOTHING
    if len(with_values) == 1:
        return quantile(with_values[0])
    return over_processes([float(np.median(values)) for values in with_values])


def so_far(values: Sequence[float], earlier: Sequence[float] = ()) -> Estimate:
    """What the stopping rule looks at while a process runs; `earlier` ones gave these medians.

    From the third process on an interval over processes that is narrower than this process' own
    will do: more samples of one process do not narrow the other.
    """
    good = usable(values)
    if not len(good):
        return NOTHING
    own = quantile(good[find_steady(good).start :])
    if len(earlier) < 2:
        return own
    over = over_processes([*earlier, own.value])
    return over._replace(effective=own.effective) if over.half_width < own.half_width else own
