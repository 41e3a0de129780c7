"""Fakes for tests, of assay and of what others add to it: no sleeping, no clocks, no processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core import messages
from assay.core.errors import EndingError
from assay.core.executor import CasePlace
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Case, Procedure, Samples, Value
from assay.measure.case import HeatEntry, OpenCase
from assay.measure.result_builder import Piece, ResultBuilder
from assay.stats.estimates import so_far
from assay.worker import timing


class FakeClock:
    """A clock that stands still until told to go on; each look at it may cost some time."""

    def __init__(self, cost: float = 0.0) -> None:
        self.now = 0.0
        self._cost = cost

    def __call__(self) -> float:
        self.now += self._cost
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


class FakeSession:
    """A stepped session whose device works after the host: time passes in `wait`, not in `step`.

    How long a step takes may be asked of a function of the time at which it begins.
    """

    def __init__(
        self,
        clock: FakeClock,
        seconds_per_step: float | Sequence[float] | Callable[[float], float],
        items: int = 1,
        seconds_to_refill: float = 0.0,
        waits: bool = True,
    ) -> None:
        self.items = items
        self._waits = waits
        self._refill = seconds_to_refill  # of the device's queue, after a wait
        self.steps = 0
        self._clock = clock
        self._seconds = seconds_per_step
        self._waiting = 0.0

    def step(self) -> None:
        self._waiting += self._next() + (0.0 if self._waiting else self._refill)
        self.steps += 1

    def wait(self) -> None:
        if self._waits:
            self.read()

    def read(self) -> None:
        """What no device can answer before it has ended."""
        self._clock.pass_(self._waiting)
        self._waiting = 0.0

    def facts(self) -> Mapping[str, Value]:
        return {"device": "fake"}

    def _next(self) -> float:
        if isinstance(self._seconds, int | float):
            return self._seconds
        if callable(self._seconds):
            return self._seconds(self._clock.now + self._waiting)
        return self._seconds[min(self.steps, len(self._seconds) - 1)]


class _WorkerWithoutProcess:
    """What OpenCase and its schedule call of a worker."""

    def __init__(self) -> None:
        self.orders: list[messages.Request] = []
        self.still = False  # woken and stopped by a schedule of several
        self.peaks: dict[str, float] = {}
        self.left_behind: list[str] = []

    def ask(self, order: messages.Request) -> Iterator[object]:
        self.send(order)
        yield from self.answers()

    def send(self, order: messages.Request) -> None:
        self.orders.append(order)

    def answers(self) -> Iterator[object]:
        raise NotImplementedError

    def stand_still(self) -> None:
        self.still = True

    def wake(self) -> None:
        self.still = False

    def allow(self, seconds: float) -> None:
        """Its time is not limited."""

    def __exit__(self, *_: object) -> None:
        """There is no process to end."""


class ClockedWorker(_WorkerWithoutProcess):
    """A worker without a process: it times a session as a real one does, by the clock it is given.

    So a schedule can be tried on steps of any kind, in as little time as it takes to draw them.
    """

    def __init__(self, session: FakeSession, clock: FakeClock) -> None:
        super().__init__()
        self._session, self._clock = session, clock

    def answers(self) -> Iterator[object]:
        order = self.orders[-1]
        if isinstance(order, messages.Open):
            yield _opened(stepped=True)
        elif isinstance(order, messages.TakeSamples):
            timed = timing.take(self._session, order.steps, order.count, order.seconds, self._clock)
            starts, seconds = zip(*timed, strict=True)
            yield messages.TimedSteps(starts=starts, seconds=seconds, steps=order.steps)
        elif isinstance(order, messages.Calibrate):
            steps = timing.steps_per_sample(self._session, self._clock)
            yield messages.Calibrated(steps=steps)
        elif isinstance(order, messages.CheckWait):
            left = timing.unwaited(self._session, self._session.read, self._clock)
            yield messages.LateFacts(facts={"unwaited": left})


class FakeWorker(_WorkerWithoutProcess):
    """Answers orders as a worker whose steps take the given seconds; after the last, they repeat.

    With `answer` it is a worker of a self-timed session; with `dies_after`, one that crashes.
    """

    def __init__(
        self,
        seconds: Sequence[float] = (0.001,),
        *,
        steps_per_sample: int = 1,
        answer: Sequence[Samples] = (),
        dies_after: int = 0,
    ) -> None:
        super().__init__()
        self.count = 0
        self._seconds = seconds
        self._steps = steps_per_sample
        self._reported = answer
        self._dies_after = dies_after

    def answers(self) -> Iterator[object]:
        order = self.orders[-1]
        if self._dies_after and len(self.orders) > self._dies_after:
            raise EndingError("crashed", "the fake worker was told to crash")
        if isinstance(order, messages.Open):
            yield _opened(stepped=not self._reported)
        elif isinstance(order, messages.TakeSamples):
            yield self._take(order)
        elif isinstance(order, messages.Calibrate):
            yield messages.Calibrated(steps=self._steps)
        elif isinstance(order, messages.CheckWait):
            yield messages.LateFacts(facts={"unwaited": 0.0})
        elif isinstance(order, messages.ProfileSteps) and not self._reported:
            yield self._take(messages.TakeSamples(steps=1, count=order.steps, seconds=1e6))
        elif isinstance(order, messages.RunSelfTimed | messages.ProfileSteps):
            yield from (messages.Reported(samples=samples) for samples in self._reported)

    def _take(self, order: messages.TakeSamples) -> messages.TimedSteps:
        found: list[float] = []
        while not found or (len(found) < order.count and sum(found) < order.seconds):
            found.append(sum(self._one() for _ in range(order.steps)))
        return messages.TimedSteps(
            starts=(0.0,) * len(found), seconds=tuple(found), steps=order.steps
        )

    def _one(self) -> float:
        value = self._seconds[self.count % len(self._seconds)]
        self.count += 1
        return float(value)


def _opened(stepped: bool) -> messages.Opened:
    return messages.Opened(
        seconds=1.0,
        items=32,
        stepped=stepped,
        facts={"device": "fake"},
        packages={},
        python={},
        workload_version="1",
    )


FAKE = Case(workload="fake", backend="fake", key="fake@fake")


class FakeCase(OpenCase):
    """A case opened in such a worker; `pieces_added` is what a result would be made from."""

    def __init__(
        self,
        worker: object,
        procedure: Procedure,
        progress: ProgressCallback = ignore,
        case: Case = FAKE,
        folder: Path = Path(),
    ) -> None:
        self.pieces_added: list[Piece] = []
        entry = HeatEntry(case.key, case, CasePlace("run/001", folder))
        super().__init__(entry, procedure, progress, _PieceList(self.pieces_added))
        self._fake: Any = worker

    def measure(self) -> list[Piece]:
        """As `assay run` does in one process. Raises EndingError where it ends badly."""
        self.start()
        self.open()
        self.start_first_step()
        self.first_step()
        self.warm_up()
        self.sample(so_far)
        self.check()
        self.close()
        if self.status != "ok":
            raise EndingError(self.status, self.reason)
        return self.pieces_added

    def _spawn(self) -> Any:
        return self._fake


class _PieceList(ResultBuilder):
    """In place of a result: nothing is asked of the machine, and no time is charged."""

    def __init__(self, pieces: list[Piece]) -> None:
        self._pieces = pieces

    def begin(self, phase: str) -> None:
        pass

    def spend(self, phase: str) -> None:
        pass

    def add(self, piece: Piece, process: int = 0, turn: int = 0) -> None:
        self._pieces.append(piece)

    def end_process(self, worker: object) -> None:
        pass

    def finish(self, *_: object) -> Any:
        pass
