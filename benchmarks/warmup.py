"""Is the steady value right, where a fixed number of warm-up steps is not?

    python benchmarks/warmup.py

Each trace begins with the very first step and is replayed through assay.schedule. Truth is the
median of the second half of the trace; of a made one, what it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.core.records import Case, Procedure, Result, Samples
from assay.stats.summary import summarize
from assay.testing import FakeCase, FakeWorker

Array = NDArray[np.float64]

DATA = Path(__file__).parent / "data" / "traces.npz"
FIXED = 10  # warm-up steps of the older tools
AFTER = 100  # samples after them
CASE = Case(workload="trace", backend="trace", key="trace")


def made() -> Iterator[tuple[str, Array, float]]:
    random = np.random.default_rng(0)
    at = np.arange(4000)

    def noisy(shape: Array) -> Array:
        return 0.01 * shape * (1 + 0.01 * random.standard_normal(4000))

    yield "two slow steps", noisy(np.where(at < 2, 1000.0, 1.0)), 0.01
    yield "decay over 30 steps", noisy(1 + 0.5 * np.exp(-at / 30)), 0.01
    yield "decay over 100 steps", noisy(1 + 0.3 * np.exp(-at / 100)), 0.01
    yield "faster after 60 steps", noisy(np.where(at < 60, 1.3, 1.0)), 0.01
    recompiled = noisy(np.where(at < 40, 1.2, 1.0))
    recompiled[[0, 40]] = 9.0, 2.0
    yield "compiled twice", recompiled, 0.01
    yield "steady at once", noisy(np.ones(4000)), 0.01


def recorded() -> Iterator[tuple[str, Array, float]]:
    with np.load(DATA) as kept:
        for name in sorted(kept):
            if name.startswith(("torch-compile", "jax")):
                values = kept[name].astype(np.float64)
                yield name, values, float(np.median(values[len(values) // 2 :]))


def measured(values: Array) -> tuple[float, int, int, list[str]]:
    """What assay says of this trace, how many steps it warmed up and sampled, and its doubts."""
    procedure = Procedure(budget=30.0)
    pieces = FakeCase(FakeWorker(values.tolist()), procedure).measure()
    samples = tuple(piece for piece in pieces if isinstance(piece, Samples))
    result = Result(
        id="run/001", case=CASE, procedure=procedure, status="ok", samples=samples, seconds=1e6
    )
    summary = summarize(result)
    warm = len(result.values("step_time", "warmup"))
    codes = [doubt.code for doubt in summary.doubts if doubt.code != "one-process"]
    steady = len(result.values("step_time"))
    return summary.quantities["step_time"].value, warm, steady, codes


def main() -> None:
    print(f"{'trace':<24}{'fixed 10':>10}{'assay':>8}{'warm-up':>9}{'samples':>9}  doubts")
    for source in (made(), recorded()):
        for name, values, truth in source:
            fixed = float(np.median(values[FIXED : FIXED + AFTER])) / truth - 1
            found, warm, steady, doubts = measured(values)
            print(
                f"{name:<24}{fixed:>10.2%}{found / truth - 1:>8.2%}{warm:>9}{steady:>9}"
                f"  {', '.join(doubts)}"
            )


if __name__ == "__main__":
    main()
