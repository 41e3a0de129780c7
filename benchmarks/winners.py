"""How often `run` names a winner: between equal programs, where it must not, and between others.

    python benchmarks/winners.py [TRIALS [SEED]]

Each process of a program has a factor of its own, lognormal with the given spread; its steps vary
by 1 % around that. The old rule named the first wherever the two intervals did not overlap.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from assay.core.findings import SummarizedResult
from assay.core.records import Case, Procedure, Result, Samples
from assay.stats.summary import summarize
from assay.stats.winner import rank

STEP = 0.004  # seconds
SPREAD = 0.01  # of the steps of a process
PROCESS_NOISE = (0.0, 0.03, 0.05)


class Setting(NamedTuple):
    ratio: float = 1.0  # of the second program's time to the first's
    programs: int = 2
    processes: int = 1
    samples: int = 100  # per process


SETTINGS = (
    *(Setting(samples=samples) for samples in (2, 10, 100)),
    Setting(processes=2),
    Setting(processes=3),
    Setting(processes=5),
    Setting(programs=4),
    Setting(programs=4, processes=5),
    Setting(ratio=1.1),
    Setting(ratio=1.1, processes=5),
    Setting(ratio=1.5),
    Setting(ratio=2.0),
    Setting(ratio=2.0, samples=2),
)


def measure(
    random: np.random.Generator, setting: Setting, noise: float, factor: float, name: str
) -> SummarizedResult:
    """A result of a program, with its summary."""
    parts = []
    for process in range(setting.processes):
        level = STEP * factor * np.exp(noise * random.standard_normal())
        values = level * (1 + SPREAD * random.standard_normal(setting.samples))
        parts.append(
            Samples(
                metric="step_time",
                unit="s",
                phase="steady",
                values=tuple(values.tolist()),
                process=process,
            )
        )
    case = Case(workload="virtual", backend=name, key=f"virtual@{name}")
    result = Result(
        id=f"run/{name}",
        case=case,
        procedure=Procedure(),
        status="ok",
        samples=tuple(parts),
        items=1,
        seconds=1e3,
    )
    return SummarizedResult(result=result, summary=summarize(result))


def old_rule(readings: list[SummarizedResult]) -> bool:
    """Whether it named a winner."""
    rates = [reading.summary.quantities["throughput"] for reading in readings]
    first, second = sorted(rates, key=lambda rate: -rate.value)[:2]
    return second.high < first.low


def named(setting: Setting, noise: float, trials: int, seed: int) -> tuple[float, float]:
    """Shares of the trials in which the old rule and that of today name a winner."""
    random = np.random.default_rng(seed)
    before = after = 0
    for _ in range(trials):
        readings = [
            measure(random, setting, noise, setting.ratio if number else 1.0, f"program-{number}")
            for number in range(setting.programs)
        ]
        ranking = rank(readings)
        before += old_rule(readings)
        after += ranking is not None and ranking.certain
    return before / trials, after / trials


def main() -> None:
    numbers = [int(text) for text in sys.argv[1:]]
    trials, seed = (*numbers, *(300, 1)[len(numbers) :])
    print(f"{trials} trials each, seed {seed}: a winner is named, before and now")
    print(
        f"{'ratio':>6}{'programs':>10}{'processes':>11}{'samples':>9}"
        + "".join(f"{f'noise {noise:.0%}':>18}" for noise in PROCESS_NOISE)
    )
    for setting in SETTINGS:
        shares = [named(setting, noise, trials, seed) for noise in PROCESS_NOISE]
        print(
            f"{setting.ratio:>6g}{setting.programs:>10}{setting.processes:>11}{setting.samples:>9}"
            + "".join(f"{before:>9.1%} {after:>8.1%}" for before, after in shares),
            flush=True,
        )


if __name__ == "__main__":
    main()
