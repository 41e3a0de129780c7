"""One turn of a warm worker among several: everyone but the one whose turn it is stands still."""

from __future__ import annotations

from typing import Protocol

from assay.records import Samples
from assay.schedule import Worker, take

TURN = 0.1  # seconds a turn lasts, so that waking a worker costs little of it
MOST = 1000  # samples of one turn


class Sleeper(Worker, Protocol):
    """A worker that can be made to stand still."""

    def stand_still(self) -> None: ...

    def wake(self) -> None: ...


def turn(worker: Sleeper, steps: int, seconds: float = TURN) -> Samples:
    """Samples for so many seconds, at least one, after a step that is not recorded.

    Caches, clocks and sleeping threads have to come back first.
    """
    worker.wake()
    try:
        take(worker, "steady", 1, 1, 0.0)
        return take(worker, "steady", steps, MOST, seconds)
    finally:
        worker.stand_still()
