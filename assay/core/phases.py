"""Where the time of a case goes: every second belongs to one phase, none to two.

In a worker, what begins inside a phase stops it until it ends: weights that are made while a model
is built are not building. In the parent, time is given to whatever comes at its end.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

# In the order they come. `start` is the process and assay's own code until it opens the case;
# `waiting` is what a contender stands still while others have their turn.
ORDER = (
    *("start", "import", "build", "weights", "first step", "warm-up"),
    *("sampling", "waiting", "checks", "end"),
)


class Phases:
    """Seconds by phase, as they pass."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def until_now(self, phase: str, inner: Mapping[str, float] | None = None) -> None:
        """All since the last call was this phase, but for what is known to have been others."""
        now = time.monotonic()
        passed, self._last = now - self._last, now
        for name, seconds in (inner or {}).items():
            self.add(name, seconds)
            passed -= seconds
        self.add(phase, max(0.0, passed))

    def add(self, phase: str, seconds: float) -> None:
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    def in_order(self) -> dict[str, float]:
        known = [name for name in ORDER if name in self.seconds]
        return {name: self.seconds[name] for name in dict.fromkeys([*known, *self.seconds])}


_here = Phases()
_stack = ["build"]


@contextmanager
def during(phase: str) -> Iterator[None]:
    """What happens inside is this phase, in this process."""
    _here.until_now(_stack[-1])
    _stack.append(phase)
    try:
        yield
    finally:
        _here.until_now(_stack.pop())


@contextmanager
def recorded() -> Iterator[Phases]:
    """The phases of what happens inside; what none is named for is `build`."""
    global _here
    _here = Phases()
    try:
        yield _here
    finally:
        _here.until_now(_stack[-1])
