"""A reason to doubt samples of several steps each: what a median of their means does not show."""

from __future__ import annotations

import numpy as np

from assay.core.findings import Doubt
from assay.core.records import Result
from assay.core.units import human
from assay.stats import estimates
from assay.stats.intervals import Array, quantile
from assay.stats.warmup import find_steady

FEWEST = 30  # single steps, to tell how they spread
HIDDEN = 0.01  # of a step, between the median of single ones and that of means
DRAWS, LARGEST = 200, 500  # groups drawn from the single steps, and steps in one of them


def hidden_by_means(result: Result) -> Doubt | None:
    """The single steps of the warm-up tell what becomes of their median in groups as large."""
    for process, singles in _singles(result).items():
        steps = _steps(result, process)
        values = estimates.usable(estimates.numbered(result, "step_time").get(process, ()))
        if steps > 1 and len(values) and len(singles) >= FEWEST:
            middle = quantile(singles)
            grouped = _grouped(singles, steps)
            # what the timer and the wait add to a single step shows no difference between steps
            added = abs(grouped - float(np.median(values)))
            if abs(grouped - middle.value) > max(HIDDEN * middle.value, middle.half_width, added):
                return _doubt(steps, middle.value, float(singles.mean()))
    return None


def _doubt(steps: int, middle: float, mean: float) -> Doubt:
    return Doubt(
        code="hidden-by-means",
        text=f"a sample is the mean of {steps} steps, and steps differ: single ones had a median "
        f"of {human(middle, 's')} and a mean of {human(mean, 's')} while warming up",
        remedy="Use --latency for the median of single steps, each with its own wait.",
    )


def _singles(result: Result) -> dict[int, Array]:
    """Steps that warm-up timed one by one, from where they are steady."""
    found = {}
    for process, values in estimates.numbered(result, "step_time", "warmup").items():
        good = estimates.usable(values)
        found[process] = good[find_steady(good).start :]
    return found


def _steps(result: Result, process: int) -> int:
    return max(
        (
            part.steps
            for part in result.samples
            if (part.metric, part.phase, part.process) == ("step_time", "steady", process)
        ),
        default=1,
    )


def _grouped(singles: Array, steps: int) -> float:
    """The median of means of so many steps, if each is drawn from these."""
    drawn = np.random.default_rng(0).choice(singles, (DRAWS, min(steps, LARGEST)))
    return float(np.median(drawn.mean(axis=1)))
