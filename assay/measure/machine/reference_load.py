"""How fast the machine itself is just now: a fixed computation that nothing of a case touches.

Kept beside each result, it tells a machine that became slower (a neighbour on the host, heat, a
governor) from a case that did.
"""

from __future__ import annotations

import platform

from assay.core.clock import clock
from assay.core.records import Value

TIMES = 30  # of which the fastest counts: another program makes it longer, never shorter
LENGTH = 5000  # about 0.2 ms


def seconds() -> float:
    best = float("inf")
    for _ in range(TIMES):
        begun = clock()
        _work()
        best = min(best, clock() - begun)
    return best


def facts(measured: list[float]) -> dict[str, Value]:
    """For a result beside which it was timed so often; comparable under one Python only."""
    return {"yardstick": min(measured), "yardstick_python": platform.python_version()}


def _work() -> int:
    total = 0
    for number in range(LENGTH):
        total += number * number % 7
    return total
