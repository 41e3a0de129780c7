"""Fakes for tests of assay and of plug-ins: no sleeping, no clocks, no processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.core import messages
from assay.core.errors import EndingError
from assay.core.executor import CaseDir
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Case, Procedure, Samples, Value
from assay.measure.case import HeatEntry, OpenCase
from assay.measure.process import Clocks
from assay.measure.result_builder import Piece, ResultBuilder
from assay.stats.estimates import running_estimate
from assay.worker import timing


class FakeClock:
    """A clock that is advanced explicitly; each reading may cost some time."""

    def __init__(self, cost: float = 0.0) -> None:
        self.now = 0.0
        self._cost = cost

    def __call__(self) -> float:
        self.now += self._cost
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class FakeSession:
    """A stepped session with an asynchronous device: time passes in `wait`, not in `step`.

    The duration of a step may be a function of its start time.
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
        """Wait for the device."""
        self._clock.advance(self._waiting)
        self._waiting = 0.0

    def facts(self) -> Mapping[str, Value]:
        return {"device": "fake"}

    def _next(self) -> float:
        if isinstance(self._seconds, int | float):
            return self._seconds
        if callable(self._seconds):
            return self._seconds(self._clock.now + self._waiting)
        return self._seconds[min(self.steps, len(self._seconds) - 1)]


class _ProcesslessWorker:
    """The methods of a worker that OpenCase and its schedule call."""

    def __init__(self) -> None:
        self.clocks = Clocks()
        self.requests: list[messages.Request] = []
        self.paused = False  # paused by a schedule of several
        self.peaks: dict[str, float] = {}
        self.left_behind: list[str] = []

    def ask(self, request: messages.Request) -> Iterator[object]:
        self.send(request)
        yield from self.answers()

    def send(self, request: messages.Request) -> None:
        self.requests.append(request)

    def answers(self) -> Iterator[object]:
        raise NotImplementedError

    def pause(self) -> None:
        self.paused = True

    def unpause(self) -> None:
        self.paused = False

    def set_deadline(self, seconds: float) -> None:
        """Time is not limited."""

    def __exit__(self, *_: object) -> None:
        """No process to end."""


class ClockedWorker(_ProcesslessWorker):
    """A worker without a process: it times a session like a real one, with a fake clock."""

    def __init__(self, session: FakeSession, clock: FakeClock) -> None:
        super().__init__()
        self._session, self._clock = session, clock

    def answers(self) -> Iterator[object]:
        request = self.requests[-1]
        if isinstance(request, messages.Open):
            yield _opened_message(stepped=True)
        elif isinstance(request, messages.TakeSamples):
            timed = timing.take(
                self._session, request.steps, request.count, request.seconds, self._clock
            )
            starts, seconds = zip(*timed, strict=True)
            yield messages.TimedSteps(starts=starts, seconds=seconds, steps=request.steps)
        elif isinstance(request, messages.Calibrate):
            steps = timing.steps_per_sample(self._session, self._clock)
            yield messages.Calibrated(steps=steps)
        elif isinstance(request, messages.CheckWait):
            left = timing.unsynchronized_share(self._session, self._session.read, self._clock)
            yield messages.LateFacts(facts={"unwaited": left})


class FakeWorker(_ProcesslessWorker):
    """Answers requests as a worker whose steps take these seconds, cyclically.

    `answer`: samples of a self-timed session; `dies_after`: crash after so many requests.
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
        request = self.requests[-1]
        if self._dies_after and len(self.requests) > self._dies_after:
            raise EndingError("crashed", "the fake worker was asked to crash")
        if isinstance(request, messages.Open):
            yield _opened_message(stepped=not self._reported)
        elif isinstance(request, messages.TakeSamples):
            yield self._take(request)
        elif isinstance(request, messages.Calibrate):
            yield messages.Calibrated(steps=self._steps)
        elif isinstance(request, messages.CheckWait):
            yield messages.LateFacts(facts={"unwaited": 0.0})
        elif isinstance(request, messages.ProfileSteps) and not self._reported:
            yield self._take(messages.TakeSamples(steps=1, count=request.steps, seconds=1e6))
        elif isinstance(request, messages.RunSelfTimed | messages.ProfileSteps):
            yield from (messages.Reported(samples=samples) for samples in self._reported)

    def _take(self, request: messages.TakeSamples) -> messages.TimedSteps:
        seconds: list[float] = []
        while not seconds or (len(seconds) < request.count and sum(seconds) < request.seconds):
            seconds.append(sum(self._next_value() for _ in range(request.steps)))
        return messages.TimedSteps(
            starts=(0.0,) * len(seconds), seconds=tuple(seconds), steps=request.steps
        )

    def _next_value(self) -> float:
        value = self._seconds[self.count % len(self._seconds)]
        self.count += 1
        return float(value)


def _opened_message(stepped: bool) -> messages.Opened:
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
    """A case opened in a fake worker; `pieces_added` collects the pieces of its result."""

    def __init__(
        self,
        worker: object,
        procedure: Procedure,
        progress: ProgressCallback = ignore,
        case: Case = FAKE,
        folder: Path = Path(),
    ) -> None:
        self.pieces_added: list[Piece] = []
        entry = HeatEntry(case.key, case, CaseDir("run/001", folder))
        super().__init__(entry, procedure, progress, _PieceCollector(self.pieces_added))
        self._fake: Any = worker

    def measure(self) -> list[Piece]:
        """Measure like `assay run` in one process. Raises EndingError if it fails."""
        self.start()
        self.open()
        self.start_first_step()
        self.first_step()
        self.warm_up()
        self.sample(running_estimate)
        self.check()
        self.close()
        if self.status != "ok":
            raise EndingError(self.status, self.reason)
        return self.pieces_added

    def _spawn(self) -> Any:
        return self._fake


class _PieceCollector(ResultBuilder):
    """A ResultBuilder that collects pieces only."""

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
