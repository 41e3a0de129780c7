"""Does the interval cover where assay itself decides how to measure, and is the doubt said if not?

    python benchmarks/coverage.py clock [TRIALS [SEED [STEPS…]]]

Each trial is a whole run by a virtual clock: the real schedule, timing, calibration, analysis and
doubts, on a session whose steps are drawn. Only the process is missing. Truth is the median of
single steps after warm-up. A row holds if 93.5 to 96.5 % are covered, or if the doubt is said in
95 % of the misses; and the doubt may be said in 5 % of normal runs at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.core.records import Case, Procedure, Result, Samples
from assay.stats.summary import summarize
from assay.testing import ClockedWorker, FakeCase, FakeClock, FakeSession

Array = NDArray[np.float64]
Random = np.random.Generator

STEP = 0.004  # seconds
DRAWN = 6000  # steps of a trial; then they come again
CASE = Case(workload="virtual", backend="virtual", key="virtual")
SAID = {"drift", "no-steady-state", "hidden-by-means"}  # doubts that a middle is another's
TIME_CONSTANT = 0.7  # seconds, of the slow warm-up


class Kind(NamedTuple):
    name: str
    draw: Callable[[Random, int], Array]  # steps, as shares of `step`
    step: float = STEP
    warming: float = 0.0  # how much slower the first step is, as a share
    refill: float = 0.0  # seconds that the device stands idle after a wait


class Trial(NamedTuple):
    covered: bool
    said: bool
    off: float
    width: float
    grouped: bool
    samples: int
    seconds: float


def _normal(spread: float) -> Callable[[Random, int], Array]:
    return lambda random, count: 1 + spread * random.standard_normal(count)


def _remembering(memory: float, spread: float) -> Callable[[Random, int], Array]:
    def draw(random: Random, count: int) -> Array:
        # a sum of the past, to where it is forgotten
        past = memory ** np.arange(100) * math.sqrt(1 - memory**2)
        noise = random.standard_normal(count + 99)
        return 1 + spread * np.convolve(noise, past, mode="valid")

    return draw


def _two_modes(random: Random, count: int) -> Array:
    return np.where(random.random(count) < 0.7, 1.0, 1.5) * _normal(0.01)(random, count)


def _outliers(random: Random, count: int) -> Array:
    return _normal(0.02)(random, count) + (random.random(count) < 0.05) * random.exponential(
        2, count
    )


def _lognormal(random: Random, count: int) -> Array:
    return np.exp(0.05 * random.standard_normal(count))


KINDS = (
    Kind("normal 1 %", _normal(0.01)),
    Kind("two modes 70/30", _two_modes),
    Kind("5 % outliers", _outliers),
    Kind("lognormal 5 %", _lognormal),
    Kind("AR(1) 0.5, 3 %", _remembering(0.5, 0.03)),
    Kind("slow warm-up 20 %", _normal(0.01), warming=0.2),
)
MORE = (
    Kind("normal 3 %", _normal(0.03)),
    Kind("AR(1) 0.8, 1.5 %", _remembering(0.8, 0.015)),
    Kind("slow warm-up 2 %", _normal(0.01), warming=0.02),
    Kind("slow warm-up 100 %", _normal(0.01), warming=1.0),
    Kind("slow warm-up 20 %, noise 3 %", _normal(0.03), warming=0.2),
    Kind("normal 1 %, queue to fill", _normal(0.01), refill=0.0002),
    Kind("two modes, steps of 20 µs", _two_modes, step=2e-5),
)


def run(kind: Kind, truth: float, seed: tuple[int, int]) -> Trial:
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, _steps(kind, seed), seconds_to_refill=kind.refill)
    procedure = Procedure()
    pieces = FakeCase(ClockedWorker(session, clock), procedure).measure()
    samples = tuple(piece for piece in pieces if isinstance(piece, Samples))
    result = Result(
        id="run/001",
        case=CASE,
        procedure=procedure,
        status="ok",
        samples=samples,
        seconds=clock.now,
    )
    summary = summarize(result)
    step = summary.quantities["step_time"]
    return Trial(
        covered=step.low <= truth <= step.high,
        said=bool(SAID & {doubt.code for doubt in summary.doubts}),
        off=step.value / truth - 1,
        width=(step.high - step.low) / 2 / truth,
        grouped=samples[-1].steps > 1,
        samples=step.n,
        seconds=clock.now,
    )


def _steps(kind: Kind, seed: tuple[int, int]) -> Callable[[float], float]:
    drawn = (kind.step * kind.draw(np.random.default_rng(seed), DRAWN)).tolist()
    taken = 0

    def seconds(now: float) -> float:
        nonlocal taken
        taken += 1
        slower = kind.warming * math.exp(-now / TIME_CONSTANT) if kind.warming else 0.0
        return float(drawn[taken % DRAWN]) * (1 + slower)

    return seconds


def report(trials: int, seed: int, names: Sequence[str]) -> None:
    print(f"{trials} runs each, seed {seed}, steps of {1000 * STEP:g} ms")
    print(
        f"{'steps':<30}{'covered':>8}{'off by':>9}{'width':>8}{'said':>7}{'of misses':>11}"
        f"{'grouped':>9}{'samples':>9}{'seconds':>9}"
    )
    for kind in (kind for kind in (*KINDS, *MORE) if not names or kind.name in names):
        truth = kind.step * float(np.median(kind.draw(np.random.default_rng(0), 2_000_000)))
        print(_row(kind.name, [run(kind, truth, (seed, at)) for at in range(trials)]), flush=True)


def _row(name: str, found: list[Trial]) -> str:
    covered, said, off, width, grouped, samples, seconds = np.array(found, dtype=np.float64).T
    misses = said[covered == 0]
    told = float(misses.mean()) if len(misses) else 1.0
    holds = 0.935 <= covered.mean() <= 0.965 or told >= 0.95
    return (
        f"{name:<30}{covered.mean():>8.1%}{off.mean():>9.3%}{np.median(width):>8.2%}"
        f"{said.mean():>7.1%}{told:>11.0%}{grouped.mean():>9.1%}{samples.mean():>9.0f}"
        f"{seconds.mean():>9.2f}{'' if holds else '  does not hold'}"
    )
