"""Several warm workers that take turns: everyone but the one whose turn it is stands still."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Protocol

from assay.errors import EndingError
from assay.protocol import Open, Opened, Order
from assay.records import Case, Samples
from assay.schedule import Worker, take

TURN = 0.1  # seconds a turn lasts, so that waking a worker costs little of it
MOST = 1000  # samples of one turn


class Sleeper(Worker, Protocol):
    """A worker that can be made to stand still, and need not be waited for."""

    def send(self, order: Order) -> None: ...

    def answers(self) -> Iterator[object]:
        """To the order that was sent last. Raises EndingError when there can be none."""

    def stand_still(self) -> None: ...

    def wake(self) -> None: ...


def opened(
    workers: Mapping[str, Sleeper], cases: Mapping[str, Case]
) -> Iterator[tuple[str, Opened | EndingError]]:
    """Open them all at once, for most of it is loading; each stands still when it is open.

    Who cannot be opened is told by the reason, and keeps no other from it.
    """
    for name, worker in workers.items():
        worker.send(Open(case=cases[name]))
    for name, worker in workers.items():
        try:
            yield name, next(answer for answer in worker.answers() if isinstance(answer, Opened))
        except EndingError as error:
            yield name, error
        worker.stand_still()


def rounds(
    workers: Mapping[str, Sleeper], steps: Mapping[str, int], seed: int = 0, seconds: float = TURN
) -> Iterator[dict[str, Samples]]:
    """Round after round, as long as one asks: every worker's turn, in an order drawn anew.

    Who is taken out of `workers` between two rounds has no turn any more.
    """
    order = random.Random(seed)
    while workers:
        names = order.sample(list(workers), len(workers))
        yield {name: turn(workers[name], steps[name], seconds) for name in names}


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
