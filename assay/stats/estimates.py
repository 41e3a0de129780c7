"""The steady values of a result, process by process, and the one estimate they make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.core.records import LONGEST_STEP, SHORTEST_STEP, Phase, Result
from assay.stats.intervals import Array, Estimate, over_processes, quantile
from assay.stats.warmup import find_steady

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
    moved: float = 0.0  # seconds, by a slow change that was not over


def processes(result: Result, metric: str = "step_time") -> list[Process]:
    """The steady phase of every process that has one; a beginning that differs is cut off."""
    found = []
    longest = result.seconds or math.inf
    for process, values in numbered(result, metric).items():
        good = usable(values, longest)
        start, verdict, moved = find_steady(good, usable(_before(result, metric, process), longest))
        fastest = float(good.min(initial=math.inf))
        bad = len(values) - len(good)
        found.append(Process(good[start:], verdict, bad, start, fastest, moved))
    return found


def by_process(result: Result, metric: str, phase: Phase = "steady") -> list[tuple[float, ...]]:
    """Raw values, in the order they were taken, a tuple for each process."""
    return list(numbered(result, metric, phase).values())


def numbered(result: Result, metric: str, phase: Phase = "steady") -> dict[int, tuple[float, ...]]:
    """The same, by the number of the process."""
    found: dict[int, tuple[float, ...]] = {}
    for part in result.samples:
        if part.metric == metric and part.phase == phase:
            found[part.process] = found.get(part.process, ()) + part.values
    return found


def _before(result: Result, metric: str, process: int) -> tuple[float, ...]:
    """What warm-up timed, where a sample is one step there and later: else they do not compare."""
    parts = [p for p in result.samples if p.metric == metric and p.process == process]
    if any(part.steps > 1 for part in parts):
        return ()
    return tuple(value for part in parts if part.phase == "warmup" for value in part.values)


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


def so_far(
    values: Sequence[float], before: Sequence[float] = (), earlier: Sequence[float] = ()
) -> Estimate:
    """What the stopping rule looks at while a process runs; `earlier` ones gave these medians.

    It is worth nothing yet while a slow change, seen with what was timed `before`, is not over.
    From the third process on an interval over processes that is narrower than this process' own
    will do: more samples of one process do not narrow the other.
    """
    good = usable(values)
    if not len(good):
        return NOTHING
    steady = find_steady(good, usable(before))
    own = quantile(good[steady.start :])
    if steady.verdict == "warming":
        own = own._replace(effective=0.0)
    if len(earlier) < 2:
        return own
    over = over_processes([*earlier, own.value])
    return over._replace(effective=own.effective) if over.half_width < own.half_width else own
