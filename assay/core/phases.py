"""Seconds of a case by phase. Phases do not overlap and add up to the total.

In a worker, an inner phase interrupts the outer one: weights that are created while a model is
built count as `weights`. In the parent, time is charged when a phase ends.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

# In order. `start` is the process and assay's code until it opens the case; `waiting` is the time
# that a contender is paused while others take samples.
ORDER = (
    *("start", "import", "build", "weights", "first step", "warm-up"),
    *("sampling", "waiting", "checks", "end"),
)


class Phases:
    """Seconds by phase, as they pass."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def charge(self, phase: str, inner: Mapping[str, float] | None = None) -> None:
        """Charge the time since the last call to this phase, except for the `inner` phases."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        for name, seconds in (inner or {}).items():
            self.add(name, seconds)
            passed -= seconds
        self.add(phase, max(0.0, passed))

    def add(self, phase: str, seconds: float) -> None:
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def sorted_seconds(self) -> dict[str, float]:
        known = [name for name in ORDER if name in self.seconds]
        return {name: self.seconds[name] for name in dict.fromkeys([*known, *self.seconds])}


_current = Phases()
_stack = ["build"]


@contextmanager
def during(phase: str) -> Iterator[None]:
    """Charge the block to this phase, in this process."""
    _current.charge(_stack[-1])
    _stack.append(phase)
    try:
        yield
    finally:
        _current.charge(_stack.pop())


@contextmanager
def record_phases() -> Iterator[Phases]:
    """Record the phases of the block; time of no phase is `build`."""
    global _current
    _current = Phases()
    try:
        yield _current
    finally:
        _current.charge(_stack[-1])
