"""Wall-clock time that a command may take."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

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


class OutOfTimeError(Exception):
    """Raised in the middle of whatever runs, a child process included."""


@contextmanager
def interrupt_after(seconds: float) -> Iterator[None]:
    """Raise OutOfTimeError then; in the main thread only, which alone receives signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
