"""One case → fresh processes → Result, whatever happens in between."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from assay.core import registry
from assay.core.contracts import Refusing
from assay.core.errors import EndingError
from assay.core.executor import CasePlace
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
from assay.core.records import Case, Plan, Procedure, Result, Samples, Status, Value, arguments
from assay.measure import batch_size, modes
from assay.measure.process import WorkerProcess
from assay.measure.result_builder import ResultBuilder, blank, opened
from assay.measure.sampling import (
    FIRST,
    TRACE,
    Conduct,
    Pieces,
    alone,
    ask_one,
    first_of,
    open_time,
    reports,
    samples,
    settled,
    take_tokens,
    take_turn,
)
from assay.stats import estimates, generation


def measure_case(
    case: Case,
    procedure: Procedure,
    place: CasePlace,
    progress: ProgressCallback,
    conduct: Conduct | None = None,
    lacking: str = "",
) -> Result:
    """The whole life of a case. Nothing a case does raises; an interrupt is an ending too.

    What is `lacking` for it, in words, ends it before a process starts.
    """
    account = ResultBuilder(case, procedure, place)
    try:
        refuse(case, lacking)
        for number in range(procedure.processes):
            part = _part(procedure, account.seconds if number else 0.0)
            earlier = _medians(account.samples)
            folder = _folder(place.folder, number)
            numbered = _of_process(progress, number + 1, procedure.processes)
            account.begin()
            for piece in _process(case, part, folder, numbered, earlier, account, conduct):
                account.add(piece, number)
    except EndingError as error:
        return account.closed(error.status, error.reason, error.phases)
    except OSError as error:  # of this process: no descriptor, no room on the disk
        return account.closed("failed", f"assay could not go on: {error.strerror or error}")
    except KeyboardInterrupt as error:
        return account.closed("interrupted", str(error) or "by Ctrl-C")
    return account.closed()


def _of_process(progress: ProgressCallback, process: int, processes: int) -> ProgressCallback:
    return lambda one: progress(msgspec.structs.replace(one, process=process, processes=processes))


def refuse(case: Case, lacking: str = "") -> None:
    """What is known to be impossible ends before a process starts."""
    workload, backend = registry.workload(case.workload), registry.backend(case.backend)
    reason = backend.refuses(case)
    if not reason and not case.options.get("python"):
        reason = backend.missing()
    if not reason and isinstance(workload, Refusing):
        kind = next(kind for kind in workload.kinds if kind in backend.accepts)
        reason = workload.refuses(kind, arguments(case.params, workload.params))
    reason = reason or lacking
    if reason:
        raise EndingError("skipped", reason)


def _process(
    case: Case,
    procedure: Procedure,
    folder: Path,
    progress: ProgressCallback,
    earlier: list[float],
    account: ResultBuilder,
    conduct: Conduct | None,
) -> Pieces:
    """The life of one process; the medians of those before it count when it has enough."""
    child = WorkerProcess(case, folder, procedure.timeout)
    try:
        with child as worker:
            yield from (
                conduct(worker)
                if conduct
                else alone(
                    worker,
                    case,
                    procedure,
                    progress,
                    lambda values, before: estimates.so_far(values, before, earlier),
                    checks=not earlier,
                )
            )
            if procedure.communication and not (conduct or earlier) and _medians(account.samples):
                yield from modes.measured(worker, case, folder / TRACE, progress)
    finally:
        account.ended(child)


def _medians(samples: Sequence[Samples]) -> list[float]:
    """Of the step times of the processes so far."""
    return [
        float(estimates.so_far(part.values).value)
        for part in samples
        if (part.metric, part.phase) == ("step_time", "steady")
    ]


def _part(procedure: Procedure, spent: float) -> Procedure:
    """What one process may use: its share of the budget, and all the time the case has left."""
    left = procedure.timeout - spent
    if left <= 0:
        raise EndingError("timeout", f"not finished after {procedure.timeout:g} s")
    budget = procedure.budget / procedure.processes
    return msgspec.structs.replace(procedure, budget=budget, timeout=left)


def _folder(folder: Path, number: int) -> Path:
    """A folder for the log of each process; that of the first is the case's own."""
    place = folder / f"process-{number}" if number else folder
    place.mkdir(exist_ok=True)
    return place


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
        self._result = blank(entry.case, procedure, entry.place)
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
            refuse(self._entry.case)
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
        self._result = opened(self._result, answer)
        self._stepped = answer.stepped
        if self._procedure.metric in generation.TIMED and not answer.generates:
            raise EndingError("skipped", NO_TEXT.format(metric=self._procedure.metric))
        self._before.append(open_time(answer))
        facts = {**self._entry.known, **self._result.facts}
        self._result = msgspec.structs.replace(self._result, facts=facts)
        if answer.outputs and not self._entry.known:
            self.outputs = ask_one(child, GetOutputs(), OutputValues)
            self._phases.until_now("checks")


def measure(plan: Plan, case: Case, place: CasePlace, progress: ProgressCallback) -> Result:
    """One case of a plan, on the machine that this is called on."""
    sized, search = batch_size.settled(case, place.folder, plan.procedure, progress)
    request = modes.request(plan, sized, place.folder, progress)
    found = measure_case(sized, plan.procedure, place, progress, request.conduct, request.lacking)
    return msgspec.structs.replace(found, facts={**found.facts, **search, **request.facts})
