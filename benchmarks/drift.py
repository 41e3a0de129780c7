"""Does a run on a machine whose speed drifts carry a doubt, and one on a steady machine none?

    python benchmarks/drift.py [TRIALS [SEED]]

Whole runs on a virtual clock (virtual.py). The speed of the machine swings (a sine) or jumps
between levels (dwell times are exponential); truth is the median over a long time. A run begins at
a random time. Counted are intervals that cover the truth, runs with a doubt about drift, misses
with such a doubt, and doubts of runs that are stationary.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from virtual import CASE, DRAWN, STEP

from assay.core.records import Procedure, Result, Samples
from assay.stats.summary import summarize
from assay.testing import ClockedWorker, FakeCase, FakeClock, FakeSession

SAID = {"drift", "no-steady-state", "level-changes"}
OPENING = 4.0  # seconds from the start of a case to its first step
HORIZON = 600.0  # seconds of which the median is the truth
Factor = Callable[[float], float]  # of the step time, at a time


class Kind(NamedTuple):
    name: str
    factor: Callable[[np.random.Generator], Factor]
    spread: float = 0.01
    memory: float = 0.0
    drifts: bool = True


def steady(random: np.random.Generator) -> Factor:
    return lambda now: 1.0


def swing(period: float, size: float = 0.05) -> Callable[[np.random.Generator], Factor]:
    def make(random: np.random.Generator) -> Factor:
        start = random.random() * period
        return lambda now: 1 + size * math.sin(2 * math.pi * (now + start) / period)

    return make


def jumps(dwell: float, size: float = 0.05) -> Callable[[np.random.Generator], Factor]:
    """Between the usual level and two others, each for `dwell` seconds on average."""

    def make(random: np.random.Generator) -> Factor:
        count = int(4 * HORIZON / dwell) + 10
        ends = np.cumsum(random.exponential(dwell, count))
        levels = 1 + size * random.choice((-1.0, 0.0, 1.0), count)
        start = random.random() * HORIZON / 2
        return lambda now: float(levels[int(np.searchsorted(ends, now + start))])

    return make


KINDS = (
    Kind("stationary, 1 %", steady, drifts=False),
    Kind("stationary, 3 %", steady, spread=0.03, drifts=False),
    Kind("stationary, AR(1) 0.5, 3 %", steady, spread=0.03, memory=0.5, drifts=False),
    Kind("stationary, AR(1) 0.8, 1.5 %", steady, spread=0.015, memory=0.8, drifts=False),
    *(Kind(f"swing of 5 %, period {p:g} s", swing(p)) for p in (0.5, 1.0, 2.0, 5.0, 20.0)),
    *(Kind(f"jumps of 5 %, every {d:g} s", jumps(d)) for d in (0.2, 0.5, 1.0, 5.0, 20.0)),
)


class Trial(NamedTuple):
    covered: bool
    doubted: bool
    seconds: float  # of sampling


def run(kind: Kind, seed: tuple[int, int]) -> Trial:
    random = np.random.default_rng(seed)
    clock = FakeClock(cost=1e-7)
    factor = kind.factor(random)
    past = kind.memory ** np.arange(100) * math.sqrt(1 - kind.memory**2)
    noise = np.convolve(random.standard_normal(DRAWN + 99), past, mode="valid")
    drawn = (STEP * (1 + kind.spread * noise)).tolist()
    taken = 0

    def seconds(now: float) -> float:
        nonlocal taken
        taken += 1
        return float(drawn[taken % DRAWN]) * factor(now + OPENING)

    case = FakeCase(ClockedWorker(FakeSession(clock, seconds), clock), Procedure())
    samples = tuple(piece for piece in case.measure() if isinstance(piece, Samples))
    result = Result(
        id="run/001",
        case=CASE,
        procedure=Procedure(),
        status="ok",
        samples=samples,
        seconds=clock.now + OPENING,
    )
    summary = summarize(result)
    step = summary.quantities["step_time"]
    times = np.linspace(0.0, HORIZON, 20000)
    truth = STEP * float(np.median([factor(now) for now in times.tolist()]))
    sampled = sum(sum(part.values) for part in samples if part.phase == "steady")
    return Trial(
        step.low <= truth <= step.high,
        bool(SAID & {doubt.code for doubt in summary.doubts}),
        sampled,
    )


def rates(kind: Kind, trials: int, seed: int) -> tuple[float, float, float, float]:
    """Coverage, doubts, doubts of misses (nan without one), and median seconds of sampling."""
    covered, doubted, seconds = np.array([run(kind, (seed, at)) for at in range(trials)]).T
    missed = covered == 0
    told = float(doubted[missed].mean()) if missed.any() else math.nan
    return float(covered.mean()), float(doubted.mean()), told, float(np.median(seconds))


def main() -> None:
    numbers = [int(text) for text in sys.argv[1:]]
    trials, seed = (*numbers, *(200, 1)[len(numbers) :])
    print(f"{trials} runs each, seed {seed}, steps of {1000 * STEP:g} ms")
    print(f"{'machine':<32}{'covered':>9}{'doubts':>9}{'of misses':>11}{'sampled':>10}")
    for kind in KINDS:
        covered, doubted, told, seconds = rates(kind, trials, seed)
        print(
            f"{kind.name:<32}{covered:>9.1%}{doubted:>9.1%}{told:>11.1%}{seconds:>8.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
