"""Does the 95 % interval cover, with the stopping rule on, and what does the rule save?

    python benchmarks/coverage.py [TRIALS [SEED]]
    python benchmarks/coverage.py clock [TRIALS [SEED [STEPS…]]]     # whole runs, virtual clock

Truth is the median of the whole trace. A trial starts anywhere in the trace and takes samples until
the rule stops it, at most BUDGET. Recorded traces (benchmarks/record.py) are tried in two ways: in
one stretch, as one short run takes them, and drawn at random, as if far apart in time: the second
shows the interval on real distributions, the first what the slow swings of a machine do to it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import virtual
from numpy.typing import NDArray

from assay.stats import estimates, stopping
from assay.stats.intervals import Estimate
from assay.stats.warmup import find_steady

Array = NDArray[np.float64]
Draw = Callable[[np.random.Generator], Array]

DATA = Path(__file__).parent / "data" / "traces.npz"
BUDGET = 1500  # samples of one trial, at most
TARGET = 0.01
WARM = 100  # values of a recorded trace that are not its steady part
FIXED = 100
CLOCK = sys.argv[1:2] == ["clock"]
GIVEN = [int(text) for text in sys.argv[1:] if text.isdecimal()]
SEED = GIVEN[1] if len(GIVEN) > 1 else 1


class Trace(NamedTuple):
    name: str
    truth: float
    draw: Draw  # a trial's samples, in the order they are taken


class Trial(NamedTuple):
    taken: int
    estimate: Estimate
    steady: bool


def synthetic() -> Iterator[Trace]:
    def normal(spread: float, memory: float = 0.0) -> Callable[..., Array]:
        return lambda random, count: 1 + spread * _remembering(random, count, memory)

    makers: dict[str, Callable[..., Array]] = {
        "normal 1 %": normal(0.01),
        "normal 3 %": normal(0.03),
        "lognormal 5 %": lambda r, n: np.exp(0.05 * r.standard_normal(n)),
        "AR(1) 0.5, 3 %": normal(0.03, 0.5),
        "AR(1) 0.8, 1.5 %": normal(0.015, 0.8),
        "AR(1) 0.8, 3 %": normal(0.03, 0.8),
        "two modes 70/30": lambda r, n: (
            np.where(r.random(n) < 0.7, 1.0, 1.2) + 0.01 * r.standard_normal(n)
        ),
        "5 % outliers": lambda r, n: (
            1 + 0.02 * r.standard_normal(n) + (r.random(n) < 0.05) * r.exponential(2, n)
        ),
    }
    for name, make in makers.items():
        truth = float(np.median(make(np.random.default_rng(0), 2_000_000)))
        yield Trace(name, truth, lambda random, make=make: make(random, BUDGET))  # type: ignore[misc]


def recorded(spread: bool) -> Iterator[Trace]:
    with np.load(DATA) as kept:
        for name in sorted(kept):
            whole = kept[name].astype(np.float64)[WARM:]
            draw = _spread if spread else _stretch
            yield Trace(
                name,
                float(np.median(whole)),
                lambda random, whole=whole, draw=draw: draw(whole, random),  # type: ignore[misc]
            )


def attempt(samples: Array, target: float) -> Trial:
    """The rule of assay.schedule, without its worker."""
    looks: list[bool] = []
    count = 0
    while not stopping.is_confirmed(looks) and count < len(samples):
        count = min(stopping.next_look(count), len(samples))
        estimate = estimates.running_estimate(samples[:count].tolist())
        looks.append(stopping.is_narrow(estimate, target))
    return Trial(count, estimate, find_steady(samples[:count]).verdict == "steady")


def trials(trace: Trace, number: int, target: float = TARGET) -> list[Trial]:
    random = np.random.default_rng(SEED)
    return [attempt(trace.draw(random), target) for _ in range(number)]


def main() -> None:
    if CLOCK:
        virtual.report(GIVEN[0] if GIVEN else 300, SEED, sys.argv[4:])
        return
    number = GIVEN[0] if GIVEN else 1000
    print(f"{number} trials each, seed {SEED}")
    synthetics, spread = list(synthetic()), list(recorded(spread=True))
    _table(f"synthetic, target {TARGET:.0%}", synthetics, number)
    _table("recorded, samples drawn at random", spread, number)
    _savings(synthetics + spread, number // 5)
    _table("recorded, samples in one stretch", list(recorded(spread=False)), number)


def _table(title: str, traces: list[Trace], number: int) -> None:
    print(f"\n{title}\n{'trace':<24}{'covered':>9}{'samples':>9}{'width':>8}{'not steady':>12}")
    for trace in traces:
        found = trials(trace, number)
        covered = np.mean([t.estimate.low <= trace.truth <= t.estimate.high for t in found])
        count = np.mean([t.taken for t in found])
        width = np.median([t.estimate.half_width for t in found]) / trace.truth
        unsteady = 1 - np.mean([t.steady for t in found])
        mark = "" if 0.93 <= covered <= 0.97 else "  outside 93 to 97 %"
        print(f"{trace.name:<24}{covered:>9.1%}{count:>9.0f}{width:>8.2%}{unsteady:>12.0%}{mark}")


def _savings(traces: list[Trace], number: int) -> None:
    """The target at which no trace is worse than the worst of a fixed 100, and what it costs."""
    random = np.random.default_rng(2)
    errors = {}
    for trace in traces:
        drawn = (np.median(trace.draw(random)[:FIXED]) for _ in range(number))
        errors[trace.name] = _error([float(middle) for middle in drawn], trace.truth)
    bound = max(errors.values())
    for target in (0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01):
        found = {trace.name: trials(trace, number, target) for trace in traces}
        worst = max(
            _error([t.estimate.value for t in found[trace.name]], trace.truth) for trace in traces
        )
        if worst <= bound:
            break
    counts = {name: float(np.mean([t.taken for t in group])) for name, group in found.items()}
    total, share = sum(counts.values()), sum(counts.values()) / (FIXED * len(traces))
    print(f"\nerror that 95 % of trials keep, on the worst trace: fixed {FIXED}: {bound:.2%}; ")
    print(f"rule at target {target:.0%}: {worst:.2%} with {total:.0f} samples over the set, ")
    print(f"{share:.0%} of {FIXED * len(traces)}; most on one trace: {max(counts.values()):.0f}")


def _error(middles: list[float], truth: float) -> float:
    return float(np.quantile(np.abs(np.array(middles) / truth - 1), 0.95))


def _remembering(random: np.random.Generator, count: int, memory: float) -> Array:
    noise = random.standard_normal(count + 100)
    if not memory:
        return noise[100:]
    # a sum of the past, to where it is forgotten
    past = memory ** np.arange(100)
    return np.asarray(np.convolve(noise, past)[100 : count + 100] * np.sqrt(1 - memory**2))


def _stretch(whole: Array, random: np.random.Generator) -> Array:
    start = int(random.integers(len(whole)))
    return np.roll(whole, -start)[:BUDGET]


def _spread(whole: Array, random: np.random.Generator) -> Array:
    """Samples so far apart that what came just before says nothing."""
    return whole[random.integers(0, len(whole), BUDGET)]


if __name__ == "__main__":
    main()
