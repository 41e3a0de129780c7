"""One case → fresh processes → Result, whatever happens in between."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

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
    Request,
    RunSelfTimed,
    TimedSteps,
    TimeTokens,
)
from assay.core.progress import Progress, ProgressCallback
from assay.core.records import Case, Phase, Plan, Procedure, Result, Samples, Value, arguments
from assay.measure import batch_size, modes, sampling
from assay.measure.process import WorkerProcess
from assay.measure.result_builder import NO_FACTS, Piece, ResultBuilder
from assay.stats import estimates, generation

NO_TEXT = "it makes no text, which alone has {metric}; of transformer-decoder: task=generate"
OUT_OF_TIME = "the budget ended before it was warm"
TOKENS = 0.5  # of the budget, once more, for the tokens of what makes text


class HeatEntry(NamedTuple):
    """A case that takes part, and where its result goes."""

    name: str
    case: Case
    place: CasePlace
    known: Mapping[str, Value] = NO_FACTS  # of an earlier process of it, not to be asked again
    steps: int = 0  # of one sample, as that process had it; 0: to be calibrated
    memory: float = 0.0  # bytes that process took; 0: not known
    deadline: float = math.inf  # by which it has to be warm


class OpenCase:
    """One case in one fresh process, which fills a ResultBuilder. Only an interrupt raises: any
    other ending becomes the status, and what is called after it does nothing."""

    def __init__(
        self,
        entry: HeatEntry,
        procedure: Procedure,
        progress: ProgressCallback,
        builder: ResultBuilder,
        process: int = 0,
    ) -> None:
        self.name, self.case, self.memory = entry.name, entry.case, entry.memory
        self.folder = entry.place.folder
        self.first = not entry.known  # of its case, so that it is asked all
        self.status, self.reason = "ok", ""
        self.outputs: OutputValues | None = None
        self.turns: list[Samples] = []
        self.spent = 0.0  # seconds that its turns took
        self._entry, self._procedure, self._progress = entry, procedure, progress
        self._builder, self._process = builder, process
        self._worker: WorkerProcess | None = None
        self._opened: Opened | None = None
        self._warm = sampling.WarmUp()

    @property
    def stepped(self) -> bool:
        """Whether its steps can be timed; else it times itself."""
        return bool(self._opened and self._opened.stepped)

    @property
    def steps(self) -> int:
        """Of one sample; 0: it is not warm, or times itself."""
        return self._warm.steps

    def check_supported(self, missing: str = "") -> None:
        """What is known to be impossible ends before a process starts."""
        with self._phase("end"):
            check_supported(self.case, missing)

    def start(self) -> None:
        """Its process, which begins to load; unless it has ended already."""
        if self.status != "ok":
            return
        self.show("open", left=self._procedure.budget)
        with self._phase("start"):
            self._worker = self._spawn()
            self._worker.send(Open(case=self.case, outputs=self.first, counts=self.first))

    def open(self) -> None:
        """Loaded."""
        if not self._worker:
            return
        with self._phase("build"):
            opened = self._opened = sampling.first_of(self._worker.answers(), Opened)
            self.add(opened)
            if self._procedure.metric in generation.TIMED and not opened.generates:
                raise EndingError("skipped", NO_TEXT.format(metric=self._procedure.metric))
            self.add(Samples(metric="open_time", unit="s", phase="open", values=(opened.seconds,)))

    def get_outputs(self) -> None:
        """Before a step changes the weights."""
        if self._worker and self.first and self._opened and self._opened.outputs:
            with self._phase("checks"):
                self.outputs = sampling.ask_one(self._worker, GetOutputs(), OutputValues)
                self._builder.spend("checks")

    def start_first_step(self) -> None:
        """Others may start theirs meanwhile."""
        if not (self._worker and self.stepped):
            return
        self.show("first", left=self._procedure.budget)
        with self._phase("first step"):
            self._worker.send(sampling.FIRST)

    def first_step(self) -> None:
        if not (self._worker and self.stepped):
            return
        with self._phase("first step"):
            timed = sampling.first_of(self._worker.answers(), TimedSteps)
            self.add(sampling.samples(timed, "first"))

    def warm_up(self) -> None:
        """Until its steps are steady; `steps` is known then."""
        if not (self._worker and self.stepped):
            return
        steps = self._entry.steps or self._procedure.steps_per_sample
        procedure = msgspec.structs.replace(self._procedure, steps_per_sample=steps)
        with self._phase("warm-up"):
            self._warm = sampling.warm_up(self._worker, procedure, self.add, self.show)
            self._builder.spend("warm-up")

    def warm_up_tokens(self) -> None:
        """The first token alone may still have to be compiled."""
        if self._worker and self.steps and self._procedure.metric in generation.TIMED:
            with self._phase("warm-up"):
                list(self._worker.ask(TimeTokens(seconds=0.0, warm_up=0, least=1)))
                self._builder.spend("warm-up")

    def sample(self, estimate: sampling.Estimator) -> None:
        """Until there are enough samples, or all that a program reports that times itself."""
        if self._worker and self.steps:
            with self._phase("sampling"):
                sampling.sample(
                    self._worker, self._warm, self._procedure, estimate, self.add, self.show
                )
        else:
            self.request(RunSelfTimed())

    def take_turn(self) -> None:
        """Of a paused case; it is paused again at the end."""
        if not self._worker:
            return
        self._builder.spend("waiting")
        with self._phase("sampling"):
            part, others = self._turn(self._worker)
            self.turns.append(part)
            for samples in (part, *others):
                self._builder.add(samples, self._process, turn=len(self.turns))

    def _turn(self, worker: WorkerProcess) -> tuple[Samples, list[Samples]]:
        """What is compared, and what was timed beside it."""
        timed = generation.TIMED.get(self._procedure.metric)
        if timed is None:
            part = sampling.take_turn(worker, self.steps)
            self.spent += sum(part.values) * part.steps
            return part, []
        start = time.monotonic()
        parts = sampling.take_tokens(worker)
        self.spent += time.monotonic() - start
        if timed not in parts:
            raise EndingError("skipped", f"it makes one token, which has no {timed}")
        return parts.pop(timed), list(parts.values())

    def check(self) -> None:
        """Whether its wait waits: after all samples, for it takes steps of its own."""
        if self._worker and self.steps and self.first:
            with self._phase("checks"):
                self.add(sampling.ask_one(self._worker, CheckWait(), LateFacts))

    def time_tokens(self) -> None:
        if self.steps and self._opened and self._opened.generates:
            self.request(TimeTokens(seconds=TOKENS * self._procedure.budget))

    def request(self, order: Request, phase: Phase = "steady") -> None:
        """What the worker reports is added."""
        for piece in self.pieces(order, phase):
            self.add(piece)

    def pieces(self, order: Request, phase: Phase = "steady") -> Iterator[Samples | LateFacts]:
        """What the worker reports, up to its end."""
        if self._worker:
            with self._phase("sampling"):
                yield from sampling.pieces(self._worker, order, phase)

    def add(self, piece: Piece) -> None:
        self._builder.add(piece, self._process)

    def show(self, phase: Phase, **fields: Any) -> None:
        self._progress(Progress(case=self.case, phase=phase, **fields))

    def pause(self) -> None:
        if self._worker and self.stepped:
            self._worker.stand_still()

    def resume(self, renew_timeout: bool = False) -> None:
        """The time until now was waiting."""
        if self.status != "ok":
            return
        self._builder.spend("waiting")
        if self._worker:
            self._worker.wake()
            if renew_timeout:
                self._worker.allow(self._procedure.timeout)

    def end_if_late(self) -> None:
        if self._is_late():
            self.end("skipped", OUT_OF_TIME)

    def end(self, status: str, reason: str, spent: Mapping[str, float] | None = None) -> None:
        """At once: a process that hangs would disturb others. The first ending counts."""
        if status == "timeout" and self._is_late():
            status, reason = "skipped", OUT_OF_TIME
        if self.status == "ok":
            self.status, self.reason = status, reason
        self.close()
        self._builder.finish(self.status, self.reason, spent)

    def close(self) -> None:
        """The process ends; with it, peaks are known."""
        if self._worker:
            worker, self._worker = self._worker, None
            try:
                worker.__exit__(None if self.status == "ok" else EndingError, None, None)
            finally:
                self._builder.end_process(worker)

    def result(self) -> Result:
        return self._builder.finish()

    @contextmanager
    def _phase(self, phase: str) -> Iterator[None]:
        """A bad ending in here is one of this phase."""
        self._builder.begin(phase)
        try:
            yield
        except EndingError as error:
            self.end(error.status, error.reason, error.phases)
        except OSError as error:  # of this process: no descriptor, no room on the disk
            self.end("failed", f"assay could not go on: {error.strerror or error}")

    def _spawn(self) -> WorkerProcess:
        limit = min(self._procedure.timeout, self._entry.deadline - time.monotonic())
        if limit <= 0:
            raise EndingError("timeout", f"not finished after {self._builder.timeout:g} s")
        self.folder.mkdir(exist_ok=True)
        return WorkerProcess(self.case, self.folder, limit)

    def _is_late(self) -> bool:
        return not self.steps and time.monotonic() >= self._entry.deadline


def check_supported(case: Case, missing: str = "") -> None:
    """Raises EndingError for what is known to be impossible, or has something `missing`."""
    workload, backend = registry.workload(case.workload), registry.backend(case.backend)
    reason = backend.refuses(case)
    if not reason and not case.options.get("python"):
        reason = backend.missing()
    if not reason and isinstance(workload, Refusing):
        kind = next(kind for kind in workload.kinds if kind in backend.accepts)
        reason = workload.refuses(kind, arguments(case.params, workload.params))
    reason = reason or missing
    if reason:
        raise EndingError("skipped", reason)


def measure(plan: Plan, case: Case, place: CasePlace, progress: ProgressCallback) -> Result:
    """One case of a plan, on the machine that this is called on."""
    sized, search = batch_size.settled(case, place.folder, plan.procedure, progress)
    mode = modes.mode_of(plan, sized, place.folder)
    result = measure_case(sized, plan.procedure, place, progress, mode)
    return msgspec.structs.replace(result, facts={**result.facts, **search, **mode.facts})


def measure_case(
    case: Case,
    procedure: Procedure,
    place: CasePlace,
    progress: ProgressCallback,
    mode: modes.WorkerMode = modes.SPEED,
) -> Result:
    """One case, in one process after the other. Nothing a case does raises; an interrupt is an
    ending too."""
    builder = ResultBuilder(case, procedure, place)
    for number in range(procedure.processes):
        one = _process_of(case, procedure, place, progress, builder, number)
        try:
            one.check_supported(mode.missing)
            _measure_process(one, procedure, builder, mode)
        except KeyboardInterrupt as error:
            one.end("interrupted", str(error) or "by Ctrl-C")
        finally:
            one.close()
        if one.status != "ok":
            return one.result()
    builder.time_reference_load()
    return builder.finish()


def _process_of(
    case: Case,
    procedure: Procedure,
    place: CasePlace,
    progress: ProgressCallback,
    builder: ResultBuilder,
    number: int,
) -> OpenCase:
    """It has its share of the budget, and all the time that is left; the folder of the first
    process is the case's own."""
    folder = place.folder / f"process-{number}" if number else place.folder
    known = builder.facts if _medians(builder.samples) else NO_FACTS
    entry = HeatEntry(case.key, case, CasePlace(place.id, folder), known)
    left = procedure.timeout - (builder.seconds if number else 0.0)
    share = msgspec.structs.replace(
        procedure, budget=procedure.budget / procedure.processes, timeout=max(left, 0.0)
    )
    return OpenCase(entry, share, _numbered(progress, number, procedure), builder, number)


def _numbered(progress: ProgressCallback, number: int, procedure: Procedure) -> ProgressCallback:
    numbers = {"process": number + 1, "processes": procedure.processes}
    return lambda seen: progress(msgspec.structs.replace(seen, **numbers))


def _measure_process(
    one: OpenCase, procedure: Procedure, builder: ResultBuilder, mode: modes.WorkerMode
) -> None:
    """The medians of the processes before it count when it has enough."""
    earlier = _medians(builder.samples)
    builder.time_reference_load()
    one.start()
    one.open()
    if mode.drive:
        mode.drive(one)
    else:
        one.start_first_step()
        one.first_step()
        one.warm_up()
        one.sample(partial(estimates.so_far, earlier=earlier))
        one.check()
        one.time_tokens()
        if procedure.communication and not earlier and _medians(builder.samples):
            modes.measure_communication(one)
    one.close()


def _medians(samples: Sequence[Samples]) -> list[float]:
    """Of the step times of the processes so far."""
    return [
        float(estimates.so_far(part.values).value)
        for part in samples
        if (part.metric, part.phase) == ("step_time", "steady")
    ]
