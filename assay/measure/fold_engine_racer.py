"""One contender of a heat, in a process of its own, from its start to its result."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

import msgspec

from assay.core.errors import EndingError
from assay.core.messages import (
    CheckWait,
    GetOutputs,
    LateFacts,
    Open,
    Opened,
    OutputValues,
    TimedSteps,
    TimeTokens,
)
from assay.core.phases import Phases
from assay.core.progress import ProgressCallback
from assay.core.records import Case, Procedure, Result, Samples, Status, Value
from assay.measure import case as measure_case
from assay.measure.process import WorkerProcess
from assay.measure.sampling import (
    FIRST,
    Worker,
    ask_one,
    first_of,
    open_time,
    reports,
    samples,
    settled,
    take,
)
from assay.stats import generation
from assay.stores.folders import CasePlace

TURN = 0.1  # seconds a turn lasts, so that waking a worker costs little of it
MOST = 1000  # samples of one turn
NO_TEXT = "it makes no text, which alone has {metric}; of transformer-decoder: task=generate"
OUT_OF_TIME = "the budget ended before it was warm"


class HeatEntry(NamedTuple):
    """A case that takes part, and where its result goes."""

    name: str
    case: Case
    place: CasePlace
    known: Mapping[str, Value] = {}  # facts of an earlier process of it, not to be found again
    steps: int = 0  # of one sample, as that process had it; 0: found out
    memory: float = 0.0  # bytes that process took; 0: not known


class Racer:
    """One entry of a heat, from its birth to its result; it has to be warm by its deadline."""

    def __init__(self, entry: HeatEntry, procedure: Procedure, deadline: float = math.inf) -> None:
        self.name, self.case, self.memory = entry.name, entry.case, entry.memory
        self.status = "ok"
        self.steps = 0  # of one sample; 0: it times itself
        self.turns: list[Samples] = []
        self.spent = 0.0  # seconds that its turns took
        self.outputs: OutputValues | None = None
        self._entry, self._procedure, self._deadline = entry, procedure, deadline
        self._begun = time.monotonic()
        self._phases = Phases()
        self._result = measure_case.blank(entry.case, procedure, entry.place)
        self.reason = ""
        self._stepped = False
        self._before: list[Samples] = []
        self._child: WorkerProcess | None = None
        self._peaks: dict[str, float] = {}

    def start(self) -> None:
        """Its process, which begins to load; unless it is too late already."""
        if self.status != "ok":
            return
        try:
            self._phases.until_now("waiting")
            measure_case.refuse(self._entry.case)
            first = not self._entry.known
            limit = min(self._procedure.timeout, self._deadline - time.monotonic())
            self._child = WorkerProcess(self._entry.case, self._entry.place.folder, limit)
            self._child.send(Open(case=self._entry.case, outputs=first, counts=first))
        except EndingError as error:
            self._fail(error, "start")

    def open(self) -> None:
        """Loaded and at its first step, or ended."""
        if not self._child:
            return
        try:
            answer = first_of(self._child.answers(), Opened)
            self._phases.until_now("start", answer.phases)
            self._opened(self._child, answer)
            if self._stepped:
                self._child.send(FIRST)
        except EndingError as error:
            self._fail(error, "build")

    def first(self) -> None:
        """Past its first step and standing still, or ended."""
        if not self._child or not self._stepped:
            return
        try:
            timed = first_of(self._child.answers(), TimedSteps)
            self._before.append(samples(timed, "first"))
            self._phases.until_now("first step")
            self._child.stand_still()
        except EndingError as error:
            self._fail(error, "first step")

    def warm(self, progress: ProgressCallback) -> None:
        """Steady and standing still, or ended."""
        if not self._child or not self._stepped:
            return
        self._phases.until_now("waiting")
        self._child.wake()
        try:
            self._child.allow(self._procedure.timeout)
            self.steps = self._settled(self._child, progress)
            if self._procedure.metric in generation.TIMED:
                # the first token alone may still have to be compiled
                list(reports(self._child, TimeTokens(seconds=0.0, warm_up=0, least=1)))
            self._child.stand_still()
            self._phases.until_now("warm-up")
        except EndingError as error:
            self._fail(error, "warm-up")

    def turn(self) -> None:
        assert self._child
        self._phases.until_now("waiting")
        try:
            part, others = self._taken(self._child)
            self.turns.append(part)
            self._before += others
            self._phases.until_now("sampling")
        except EndingError as error:
            self._fail(error, "sampling")

    def _taken(self, child: WorkerProcess) -> tuple[Samples, list[Samples]]:
        """A turn of what is compared, and what was timed beside it."""
        timed = generation.TIMED.get(self._procedure.metric)
        if timed is None:
            part = take_turn(child, self.steps)
            self.spent += sum(part.values) * part.steps
            return part, []
        begun = time.monotonic()
        parts = take_tokens(child)
        self.spent += time.monotonic() - begun
        if timed not in parts:
            raise EndingError("skipped", f"it makes one token, which has no {timed}")
        return parts.pop(timed), list(parts.values())

    def check(self) -> None:
        """Whether its wait waits; after all turns, for it takes steps of its own."""
        if not self._child or not self.turns or self._entry.known:
            return
        self._phases.until_now("waiting")
        self._child.wake()
        try:
            found = ask_one(self._child, CheckWait(), LateFacts)
            self._phases.until_now("checks")
        except EndingError as error:
            self._fail(error, "checks")
            return
        facts = {**self._result.facts, **found.facts}
        self._result = msgspec.structs.replace(self._result, facts=facts)

    def end_if_late(self) -> None:
        if self._is_late():
            self.end("skipped", OUT_OF_TIME)

    def end(self, status: str, reason: str) -> None:
        """At once: a process that hangs would disturb the others."""
        if status == "timeout" and self._is_late():
            status, reason = "skipped", OUT_OF_TIME
        if self.status == "ok":
            self.status, self.reason = status, reason
        self.close()

    def _fail(self, error: EndingError, phase: str) -> None:
        """While it was at this; a failed opening tells more."""
        self._phases.until_now("start" if error.phases else phase, error.phases)
        self.end(error.status, error.reason)

    def close(self) -> None:
        if self._child:
            child, self._child = self._child, None
            child.__exit__(None if self.status == "ok" else EndingError, None, None)
            self._peaks = child.peaks

    def result(self) -> Result:
        status: Status = msgspec.convert(self.status, Status)
        self._phases.until_now("end")
        return msgspec.structs.replace(
            self._result,
            samples=(*self._before, *self.turns),
            peaks=self._peaks,
            seconds=time.monotonic() - self._begun,
            phases=self._phases.in_order(),
            status=status,
            reason=self.reason,
        )

    def _is_late(self) -> bool:
        return not self.steps and time.monotonic() >= self._deadline

    def _settled(self, child: WorkerProcess, progress: ProgressCallback) -> int:
        procedure = self._procedure
        if self._entry.steps:
            procedure = msgspec.structs.replace(procedure, steps_per_sample=self._entry.steps)
        pieces = settled(child, self._entry.case, procedure, progress)
        while True:
            try:
                self._before.append(next(pieces))
            except StopIteration as end:
                return int(end.value.steps)

    def _opened(self, child: WorkerProcess, answer: Opened) -> None:
        """What it says of itself; its outputs now, before a step changes the weights."""
        self._result = measure_case.opened(self._result, answer)
        self._stepped = answer.stepped
        if self._procedure.metric in generation.TIMED and not answer.generates:
            raise EndingError("skipped", NO_TEXT.format(metric=self._procedure.metric))
        self._before.append(open_time(answer))
        facts = {**self._entry.known, **self._result.facts}
        self._result = msgspec.structs.replace(self._result, facts=facts)
        if answer.outputs and not self._entry.known:
            self.outputs = ask_one(child, GetOutputs(), OutputValues)
            self._phases.until_now("checks")


class Sleeper(Worker, Protocol):
    """A worker that can be made to stand still."""

    def stand_still(self) -> None: ...

    def wake(self) -> None: ...


def take_turn(worker: Sleeper, steps: int, seconds: float = TURN) -> Samples:
    """Samples for so many seconds, at least one, after a step that is not recorded.

    Caches, clocks and sleeping threads have to come back first.
    """
    worker.wake()
    try:
        take(worker, "steady", 1, 1, 0.0)
        return take(worker, "steady", steps, MOST, seconds)
    finally:
        worker.stand_still()


def take_tokens(worker: Sleeper, seconds: float = TURN) -> dict[str, Samples]:
    """A turn of requests, at least one, by what was timed of their tokens."""
    worker.wake()
    try:
        order = TimeTokens(seconds=seconds, warm_up=1, least=1)
        return {part.metric: part for part in reports(worker, order)}
    finally:
        worker.stand_still()
