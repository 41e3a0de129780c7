"""Time a fixed computation, which shows how fast the machine is now.

Stored with each result, it distinguishes a slower machine (other load, heat, governor) from a
slower case.
"""

from __future__ import annotations

import platform

from assay.core.clock import clock
from assay.core.records import Value

TIMES = 30  # repetitions, of which the fastest counts: other programs only make it longer
LENGTH = 5000  # about 0.2 ms


def seconds() -> float:
    best = float("inf")
    for _ in range(TIMES):
        start = clock()
        _work()
        best = min(best, clock() - start)
    return best


def facts(measured: list[float]) -> dict[str, Value]:
    """Facts of a result; comparable under the same Python only."""
    return {
        "yardstick": min(measured),
        "yardstick_spread": max(measured) / min(measured) - 1,
        "yardstick_python": platform.python_version(),
    }


def _work() -> int:
    total = 0
    for number in range(LENGTH):
        total += number * number % 7
    return total
