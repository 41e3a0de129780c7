"""Doubts about samples: functions from a result to a doubt or None. DOUBTS lists all."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from assay.core.findings import Doubt
from assay.core.records import Procedure, Result
from assay.core.units import difference, human, plural
from assay.stats import estimates
from assay.stats.doubts.implausible import IMPLAUSIBLE_DOUBTS
from assay.stats.doubts.machine import MACHINE_DOUBTS
from assay.stats.doubts.work import WORK_DOUBTS
from assay.stats.intervals import Array, quantile
from assay.stats.level_changes import level_spread
from assay.stats.stopping import EFFECTIVE, FIRST
from assay.stats.warmup import find_steady

SPREAD = 0.15  # coefficient of variation
MODES = 0.85  # share of the variance between two groups; normal: 0.64, uniform: 0.75
MIN_FOR_MODES = 30  # samples; fewer fall into groups by chance
RANGE_ONLY = 6  # the range of fewer values covers the median in less than 95 % (1 - 2 / 2**n)
SMALLEST_MODE = 0.1  # of the samples; a smaller group is outliers
MIN_MODE_GAP = 0.001  # smallest relative distance of two groups


def doubts(result: Result) -> tuple[Doubt, ...]:
    """Doubts about a number; a failed case without samples has none."""
    if result.status != "ok" and not any(part.phase == "steady" for part in result.samples):
        return ()
    return tuple(reason for doubt in DOUBTS if (reason := doubt(result)))


def no_samples(result: Result) -> Doubt | None:
    if result.status != "ok" or _steady(result) or not result.samples:
        return None
    if not any(part.metric == "step_time" for part in result.samples):
        return None
    return Doubt(
        code="no-samples",
        text="there is no usable sample of the steady phase",
        remedy="Sample longer with --budget 1m, and look into worker.log.",
    )


def unusable(result: Result) -> Doubt | None:
    count = sum(process.unusable for process in estimates.processes(result))
    if not count:
        return None
    return Doubt(
        code="unusable",
        text=f"{plural(count, 'sample')} left out: zero, negative, or longer than the whole case",
        remedy="The clock of this machine jumped; measure again.",
    )


def few_samples(result: Result) -> Doubt | None:
    worth = [(quantile(part).effective, len(part)) for part in _steady(result)]
    effective, count = min(worth, default=(EFFECTIVE, FIRST))
    if effective >= EFFECTIVE and count >= FIRST:
        return None
    few = f"there {'is' if count == 1 else 'are'} only {plural(count, 'sample')}"
    if count == 1:
        few += ", and so no interval"
    elif count < RANGE_ONLY:
        few += ", and the interval is no more than their range"
    elif effective < EFFECTIVE:
        few = f"samples are correlated; effective sample size {max(effective, 1):.0f} (of {count})"
    return Doubt(
        code="few-samples",
        text=few,
        remedy="Use a longer --budget, or a machine with less other load.",
    )


def spread(result: Result) -> Doubt | None:
    widest = max((float(part.std() / part.mean()) for part in _steady(result)), default=0.0)
    if widest <= SPREAD:
        return None
    return Doubt(
        code="spread",
        text=f"the samples spread by {_percent(widest)} of their mean",
        remedy="Close other programs, or sample longer with --budget 1m.",
    )


def drift(result: Result) -> Doubt | None:
    """Change in one direction: heating, a leak, other load that grows or ends."""
    ratios = [*map(_drift, _unsteady(result)), *_warming(result)]
    ratio = max(ratios, key=lambda each: abs(math.log(each)), default=1.0)
    if ratio == 1:
        return None
    return Doubt(
        code="drift",
        text=f"steps became {difference(ratio)} {'slower' if ratio > 1 else 'faster'} while they "
        "were sampled",
        remedy="Sample longer with --budget 1m; look for heat, a leak, or other load.",
    )


def no_steady_state(result: Result) -> Doubt | None:
    if not any(_drift(values) == 1 for values in _unsteady(result)):
        return None
    return Doubt(
        code="no-steady-state",
        text="no steady state was reached: the step time still changes from time to time",
        remedy="Sample longer with --budget 1m, or on a machine with no other load.",
    )


def level_changes(result: Result) -> Doubt | None:
    """A slow swing or jumps between levels, which may not be over."""
    largest = max(map(level_spread, _steady(result)), default=0.0)
    if not largest or drift(result) or no_steady_state(result):
        return None
    return Doubt(
        code="level-changes",
        text=f"the step time changed its level by {_percent(largest)} (standard deviation) while "
        "it was sampled, more than its noise explains; the interval may not cover the next level",
        remedy="Use --processes 5 or a longer --budget; assay ab compares in spite of it.",
    )


def two_modes(result: Result) -> Doubt | None:
    groups = next(filter(None, map(_modes, _steady(result))), None)
    if groups is None:
        return None
    low, high = groups
    if high / low - 1 < MIN_MODE_GAP:
        return None
    return Doubt(
        code="two-modes",
        text=f"the samples fall into two groups {difference(high / low)} apart; "
        "the median lies in one of them",
        remedy="See assay show ID; --threads 1 or another --batch-size may show the cause.",
    )


def one_process(result: Result) -> Doubt | None:
    processes = _steady(result)
    if len(processes) != 1 or len(processes[0]) < 2:  # one sample has no interval
        return None
    return Doubt(
        code="one-process",
        text="the interval covers this process only; another one may differ by some per cent",
        remedy="Use --processes 5 for an interval that covers processes.",
    )


def wide_interval(result: Result) -> Doubt | None:
    estimate = estimates.case_estimate(estimates.processes(result))
    target = result.procedure.target
    if result.procedure.samples or _self_timed(result) or not estimate.value > 0:
        return None
    share = estimate.half_width / estimate.value
    if not share > target:  # nan for one sample, which few_samples reports
        return None
    return Doubt(
        code="target-missed",
        text=f"the interval is ± {_percent_above(share, target)}; "
        f"the target was ± {_percent(target)}",
        remedy=_remedy(result.procedure, share),
    )


def _remedy(procedure: Procedure, share: float) -> str:
    """Processes or budget to reach the target, as widths shrink with the root of the count."""
    more = (share / procedure.target) ** 2
    if procedure.processes > 1 and more * procedure.processes <= 40:
        return f"Use --processes {math.ceil(more * procedure.processes)}."
    if procedure.processes == 1 and more * procedure.budget <= 600:
        return f"Use --budget {_duration(more * procedure.budget)}."
    return f"Find a machine with less other load, or accept --target {math.ceil(100 * share)}%."


def _duration(seconds: float) -> str:
    return f"{math.ceil(seconds)}s" if seconds < 100 else f"{math.ceil(seconds / 60)}m"


def few_for_percentiles(result: Result) -> Doubt | None:
    count = sum(map(len, _steady(result)))
    missing = {
        name: needed for name, (_, needed) in estimates.PERCENTILES.items() if 0 < count < needed
    }
    if not result.procedure.latency or not missing:
        return None
    needs = " and ".join(f"{name} needs {needed}" for name, needed in missing.items())
    return Doubt(
        code="few-for-percentiles",
        text=f"there {'is' if count == 1 else 'are'} {plural(count, 'sample')}, but {needs}",
        remedy=f"Use --samples {max(missing.values())}.",
    )


def _percent_above(share: float, bound: float) -> str:
    """With enough digits to differ from the bound."""
    texts = (f"{100 * share:.{digits}g} %" for digits in range(4, 17))
    plain = _percent(share)
    return plain if plain != _percent(bound) else next(t for t in texts if t != _percent(bound))


def _percent(share: float) -> str:
    """Two digits at least."""
    return f"{100 * share:.3g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _steady(result: Result) -> list[Array]:
    return [process.values for process in estimates.processes(result) if len(process.values)]


def _unsteady(result: Result) -> list[Array]:
    return [p.values for p in estimates.processes(result) if p.verdict == "unsteady"]


def _warming(result: Result) -> list[float]:
    """Last step time over the first, of processes with a slow change, which may show only with the
    warm-up."""
    warming = [p for p in estimates.processes(result) if p.verdict == "warming"]
    shares = [process.drift / float(np.median(process.values)) for process in warming]
    return [1 + share if share > 0 else 1 / (1 - share) for share in shares]


def _self_timed(result: Result) -> bool:
    """Self-timed sessions choose their number of samples."""
    return all(not part.starts for part in result.samples if part.phase == "steady")


def _drift(values: Array) -> float:
    """The last eighth over the first, if the change is mostly monotone; else 1."""
    middles = np.array([np.median(part) for part in np.array_split(values, 8)])
    ways = np.sign(np.diff(middles))
    return float(middles[-1] / middles[0]) if abs(ways.sum()) >= 5 else 1.0


def _modes(values: Array) -> tuple[float, float] | None:
    """Means of two groups, if the best split (Otsu 1979) explains nearly all the variance."""
    ordered = np.sort(values)
    edge = len(ordered) // 50  # outliers
    ordered = ordered[edge : len(ordered) - edge]
    count = len(ordered)
    if count < MIN_FOR_MODES or ordered[0] == ordered[-1]:
        return None
    sizes = np.arange(1, count)
    sums = np.cumsum(ordered)[:-1]
    low, high = sums / sizes, (ordered.sum() - sums) / (count - sizes)
    between = sizes * (count - sizes) / count**2 * (high - low) ** 2
    cut = int(np.argmax(between))
    share = min(sizes[cut], count - sizes[cut]) / count
    if between[cut] < MODES * ordered.var() or share < SMALLEST_MODE:
        return None
    return float(low[cut]), float(high[cut])


MIN_SINGLE_STEPS = 30  # single steps
MIN_HIDDEN = 0.01  # share of a step: median of single steps against that of means
DRAWS, MAX_GROUP = 200, 500  # groups drawn from the single steps, and their largest size


def hidden_by_averaging(result: Result) -> Doubt | None:
    """Compare the median of single warm-up steps with the median of means of as many steps."""
    for process, singles in _single_steps(result).items():
        steps = _steps(result, process)
        values = estimates.usable(estimates.values_by_process(result, "step_time").get(process, ()))
        if steps > 1 and len(values) and len(singles) >= MIN_SINGLE_STEPS:
            middle = quantile(singles)
            grouped = _median_of_means(singles, steps)
            # overhead of the timer and the wait per single step
            added = abs(grouped - float(np.median(values)))
            if abs(grouped - middle.value) > max(
                MIN_HIDDEN * middle.value, middle.half_width, added
            ):
                return _doubt(steps, middle.value, float(singles.mean()))
    return None


def _doubt(steps: int, middle: float, mean: float) -> Doubt:
    return Doubt(
        code="hidden-by-means",
        text=f"a sample is the mean of {steps} steps, and steps differ: single ones had a median "
        f"of {human(middle, 's')} and a mean of {human(mean, 's')} while warming up",
        remedy="Use --latency for the median of single steps, each with its own wait.",
    )


def _single_steps(result: Result) -> dict[int, Array]:
    """Steps that warm-up timed individually, from where they are steady."""
    steps = {}
    for process, values in estimates.values_by_process(result, "step_time", "warmup").items():
        good = estimates.usable(values)
        steps[process] = good[find_steady(good).start :]
    return steps


def _steps(result: Result, process: int) -> int:
    return max(
        (
            part.steps
            for part in result.samples
            if (part.metric, part.phase, part.process) == ("step_time", "steady", process)
        ),
        default=1,
    )


def _median_of_means(singles: Array, steps: int) -> float:
    """Median of means of so many steps drawn from these."""
    drawn = np.random.default_rng(0).choice(singles, (DRAWS, min(steps, MAX_GROUP)))
    return float(np.median(drawn.mean(axis=1)))


DOUBTS: list[Callable[[Result], Doubt | None]] = [
    no_samples,
    *IMPLAUSIBLE_DOUBTS,
    unusable,
    few_samples,
    spread,
    drift,
    no_steady_state,
    level_changes,
    two_modes,
    hidden_by_averaging,
    wide_interval,
    few_for_percentiles,
    *MACHINE_DOUBTS,
    *WORK_DOUBTS,
    one_process,
]
