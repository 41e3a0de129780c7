"""Steady values of a result by process, and their estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.core.records import LONGEST_STEP, SHORTEST_STEP, TIMER_RESOLUTION, Phase, Result
from assay.stats.intervals import Array, Estimate, interval_over_processes, quantile
from assay.stats.warmup import find_steady

# share, and minimum number of samples (MLPerf Inference rules: early stopping)
DIGITS = 9  # of a time in seconds that are looked at for the resolution of its timer
PERCENTILES = {"p50": (0.5, 1), "p90": (0.9, 64), "p99": (0.99, 662)}
NO_ESTIMATE = Estimate(math.nan, math.nan, math.nan, 0.0)


class Process(NamedTuple):
    """Usable values of one process from where they are steady."""

    values: Array
    verdict: str  # of warmup.find_steady
    unusable: int  # invalid values: not finite, not positive, longer than the case
    skipped: int = 0  # usable values before it was steady
    fastest: float = math.inf  # of all usable ones
    drift: float = 0.0  # seconds of drift that was not over


def processes(result: Result, metric: str = "step_time") -> list[Process]:
    """The steady part of every process; a start that differs is cut off."""
    results = []
    longest = result.seconds or math.inf
    for process, values in values_by_process(result, metric).items():
        usable_values = usable(values, longest)
        start, verdict, moved = find_steady(
            usable_values, usable(_warmup_values(result, metric, process), longest)
        )
        fastest = float(usable_values.min(initial=math.inf))
        bad = len(values) - len(usable_values)
        results.append(Process(usable_values[start:], verdict, bad, start, fastest, moved))
    return results


def process_values(result: Result, metric: str, phase: Phase = "steady") -> list[tuple[float, ...]]:
    """Raw values in order, a tuple per process."""
    return list(values_by_process(result, metric, phase).values())


def values_by_process(
    result: Result, metric: str, phase: Phase = "steady"
) -> dict[int, tuple[float, ...]]:
    """Raw values by process number."""
    by_number: dict[int, tuple[float, ...]] = {}
    for part in result.samples:
        if part.metric == metric and part.phase == phase:
            by_number[part.process] = by_number.get(part.process, ()) + part.values
    return by_number


def _warmup_values(result: Result, metric: str, process: int) -> tuple[float, ...]:
    """Warm-up values, if all samples are single steps: otherwise they are not comparable."""
    parts = [p for p in result.samples if p.metric == metric and p.process == process]
    if any(part.steps > 1 for part in parts):
        return ()
    return tuple(value for part in parts if part.phase == "warmup" for value in part.values)


def usable(values: Sequence[float], longest: float = math.inf) -> Array:
    """Valid step times: a clock may have jumped."""
    array = np.asarray(values, dtype=np.float64)
    return array[(array >= SHORTEST_STEP) & (array <= min(longest, LONGEST_STEP))]


def timer_resolution(result: Result, metric: str = "step_time") -> float:
    """Seconds by which values of the timer differ at least; 0 if that cannot be seen.

    Of assay's clock it is a fact of the result if it is coarse. Otherwise it is the smallest
    difference of two values, or the last digit of the only one.
    """
    parts = [p for p in result.samples if p.metric == metric and p.phase == "steady"]
    steps = max((part.steps for part in parts), default=1)
    known = float(result.facts.get(TIMER_RESOLUTION, 0.0))
    if known and any(part.starts for part in parts):
        return known / steps
    durations = [value * part.steps for part in parts for value in part.values]
    finite = [duration for duration in durations if abs(duration) <= LONGEST_STEP]
    different = np.unique(np.round(finite, DIGITS))
    if len(different) == 1:
        return _last_digit(float(different[0])) / steps
    return float(np.diff(different).min(initial=math.inf)) / steps if len(different) else 0.0


def _last_digit(value: float) -> float:
    """0.01 of 0.07."""
    fraction = f"{value:.{DIGITS}f}".rstrip("0").partition(".")[2]
    return float(10.0 ** -len(fraction))


def case_estimate(processes: Sequence[Process]) -> Estimate:
    """Estimate over several processes, or of the only one."""
    series = [process.values for process in processes if len(process.values)]
    if not series:
        return NO_ESTIMATE
    if len(series) == 1:
        return quantile(series[0])
    return interval_over_processes([float(np.median(values)) for values in series])


def running_estimate(
    values: Sequence[float], before: Sequence[float] = (), earlier: Sequence[float] = ()
) -> Estimate:
    """Estimate for the stopping rule while a process runs; `earlier`: medians of earlier processes.

    Its effective sample size is 0 during a slow change, seen with the values `before`. From the
    third process on, the interval over processes is used if it is narrower than this process' own:
    more samples of one process do not narrow it.
    """
    good = usable(values)
    if not len(good):
        return NO_ESTIMATE
    steady = find_steady(good, usable(before))
    own = quantile(good[steady.start :])
    if steady.verdict == "warming":
        own = own._replace(effective=0.0)
    if len(earlier) < 2:
        return own
    over = interval_over_processes([*earlier, own.value])
    return over._replace(effective=own.effective) if over.half_width < own.half_width else own
