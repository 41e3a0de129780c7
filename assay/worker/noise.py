"""Time two identical small matrix products in random pairs, in a process of its own.

`python -m assay.worker.noise SECONDS` prints two lists of sample times. The caller chooses threads
and CPUs, so that the effect of each choice can be measured.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

from assay.core.clock import clock
from assay.worker import timing

SAMPLE = 0.004  # seconds: short for the scheduler, long for the clock


class MatrixProduct:
    """A matrix product that fits into the caches, so that only the machine's noise is measured."""

    items = 1

    def __init__(self, size: int = 256) -> None:
        import numpy as np

        self._product: Any = np.dot
        self._left = np.random.default_rng(0).random((size, size), dtype=np.float32)
        self._out = np.empty_like(self._left)

    def step(self) -> None:
        self._product(self._left, self._left, out=self._out)

    def wait(self) -> None:
        """numpy returns when it is done."""

    def facts(self) -> dict[str, str]:
        return {}


def main() -> None:
    seconds = float(sys.argv[1])
    json.dump(pairs(seconds), sys.stdout)


def pairs(seconds: float) -> tuple[list[float], list[float]]:
    """In random order within each pair, so that a drift favours neither."""
    sessions = MatrixProduct(), MatrixProduct()
    once = min(timing.time_steps(sessions[0], 3)[1] for _ in range(5))
    steps = max(1, round(3 * SAMPLE / once))
    order = random.Random(0)
    samples: tuple[list[float], list[float]] = ([], [])
    end = clock() + seconds
    while clock() < end or len(samples[0]) < 10:
        for which in order.sample((0, 1), 2):
            samples[which].append(timing.time_steps(sessions[which], steps)[1])
    return samples


if __name__ == "__main__":
    main()
