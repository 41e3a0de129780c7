"""Wall-clock time that a command may take."""

from __future__ import annotations

import time

from assay.core.clock import Clock


def hard_limit(seconds: float) -> float:
    """When whatever still runs is ended. A budget is kept to within a fifth or 10 s; half of that
    is left to end processes and to store results."""
    return seconds + max(0.1 * seconds, 5.0)


class Budget:
    """Seconds from now on; it may be overdrawn."""

    def __init__(self, seconds: float, clock: Clock = time.monotonic) -> None:
        self.seconds, self._clock, self._begun = seconds, clock, clock()

    @property
    def spent(self) -> float:
        return self._clock() - self._begun

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - self.spent)
