"""Measure one case in fresh processes; every outcome becomes a Result."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple, Unpack

import msgspec

from assay.core import registry
from assay.core.contracts import Refusing
from assay.core.errors import EndingError
from assay.core.executor import CaseDir
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
from assay.core.progress import Progress, ProgressCallback, ProgressFields
from assay.core.records import Case, Phase, Plan, Procedure, Result, Samples, Value, arguments
from assay.measure import batch_size, modes, sampling
from assay.measure.process import WorkerProcess
from assay.measure.result_builder import NO_FACTS, Piece, ResultBuilder
from assay.stats import estimates, generation

NO_GENERATION_HINT = "only text generation has {metric}; of transformer-decoder: task=generate"
OUT_OF_TIME = "the budget ended before it was warm"
TOKENS = 0.5  # of the budget, in addition, to time the tokens of text generation


class HeatEntry(NamedTuple):
    """A case of a heat, and the folder of its result."""

    name: str
    case: Case
    case_dir: CaseDir
    known: Mapping[str, Value] = NO_FACTS  # from an earlier process; not requested again
    steps: int = 0  # per sample, in that process; 0: calibrate
    memory: float = 0.0  # bytes used by that process; 0: not known
    deadline: float = math.inf  # by which it has to be warm


class OpenCase:
    """One case in one fresh process, which fills a ResultBuilder. Only an interrupt raises: any
    other failure becomes the status, and later calls do nothing."""

    def __init__(
        self,
        entry: HeatEntry,
        procedure: Procedure,
        progress: ProgressCallback,
        builder: ResultBuilder,
        process: int = 0,
    ) -> None:
        self.name, self.case, self.memory = entry.name, entry.case, entry.memory
        self.folder = entry.case_dir.folder
        self.first = not entry.known  # the first process of its case: all facts are requested
        self.status, self.reason = "ok", ""
        self.outputs: OutputValues | None = None
        self.turns: list[Samples] = []
        self.spent = 0.0  # seconds of its turns
        self._entry, self._procedure, self._progress = entry, procedure, progress
        self._builder, self._process = builder, process
        self._worker: WorkerProcess | None = None
        self._opened: Opened | None = None
        self._warm = sampling.WarmUp()

    @property
    def stepped(self) -> bool:
        """Whether assay can time its steps; otherwise it times itself."""
        return bool(self._opened and self._opened.stepped)

    @property
    def steps(self) -> int:
        """Per sample; 0: not warm, or it times itself."""
        return self._warm.steps

    def check_support(self, missing: str = "") -> None:
        """End before a process starts if the case is known to be impossible."""
        with self._phase("end"):
            check_supported(self.case, missing)

    def start(self, request: Open | None = None) -> None:
        """Start the process, which begins to load."""
        if self.status != "ok":
            return
        self.show("open", left=self._procedure.budget)
        with self._phase("start"):
            self._worker = self._spawn()
            default = Open(case=self.case, outputs=self.first, counts=self.first)
            self._worker.send(request or default)

    def open(self) -> None:
        """Wait until it is loaded."""
        if not self._worker:
            return
        with self._phase("build"):
            opened = self._opened = sampling.read_until(self._worker.answers(), Opened)
            self.add(opened)
            if self._procedure.metric in generation.TIMED and not opened.generates:
                raise EndingError(
                    "skipped", NO_GENERATION_HINT.format(metric=self._procedure.metric)
                )
            self.add(Samples(metric="open_time", unit="s", phase="open", values=(opened.seconds,)))

    def get_outputs(self) -> None:
        """Must come before a step changes the weights."""
        if self._worker and self.first and self._opened and self._opened.outputs:
            with self._phase("checks"):
                self.outputs = sampling.ask_for(self._worker, GetOutputs(), OutputValues)
                self._builder.spend("checks")

    def start_first_step(self) -> None:
        """Send the request only: other cases may start theirs meanwhile."""
        if not (self._worker and self.stepped):
            return
        self.show("first", left=self._procedure.budget)
        with self._phase("first step"):
            self._worker.send(sampling.FIRST)

    def first_step(self) -> None:
        if not (self._worker and self.stepped):
            return
        with self._phase("first step"):
            timed = sampling.read_until(self._worker.answers(), TimedSteps)
            self.add(sampling.samples_from(timed, "first"))

    def warm_up(self) -> None:
        """Run until steps are steady; then `steps` is known."""
        if not (self._worker and self.stepped):
            return
        steps = self._entry.steps or self._procedure.steps_per_sample
        procedure = msgspec.structs.replace(self._procedure, steps_per_sample=steps)
        with self._phase("warm-up"):
            self._warm = sampling.warm_up(self._worker, procedure, self.add, self.show)
            self._builder.spend("warm-up")
        if self._worker:  # its deadline was that of being warm
            self._worker.set_deadline(self._procedure.timeout)

    def warm_up_tokens(self) -> None:
        """The step for the first token may still have to be compiled."""
        if self._worker and self.steps and self._procedure.metric in generation.TIMED:
            with self._phase("warm-up"):
                list(self._worker.ask(TimeTokens(seconds=0.0, warm_up=0, least=1)))
                self._builder.spend("warm-up")

    def sample(self, estimate: sampling.Estimator) -> None:
        """Sample until it is enough; of a program that times itself, all that it reports."""
        if self._worker and self.steps:
            with self._phase("sampling"):
                sampling.sample(
                    self._worker, self._warm, self._procedure, estimate, self.add, self.show
                )
        else:
            self.request(RunSelfTimed())

    def take_turn(self) -> None:
        """Resume, sample and pause again."""
        if not self._worker:
            return
        self._builder.spend("waiting")
        with self._phase("sampling"):
            part, others = self._turn(self._worker)
            self.turns.append(part)
            for samples in (part, *others):
                self._builder.add(samples, self._process, turn=len(self.turns))

    def _turn(self, worker: WorkerProcess) -> tuple[Samples, list[Samples]]:
        """The samples to compare, and other metrics timed with them."""
        timed = generation.TIMED.get(self._procedure.metric)
        if timed is None:
            part = sampling.take_turn(worker, self.steps)
            self.spent += sum(part.values) * part.steps
            return part, []
        start = time.monotonic()
        parts = sampling.take_tokens(worker)
        self.spent += time.monotonic() - start
        if timed not in parts:
            raise EndingError("skipped", f"it generates one token, which has no {timed}")
        return parts.pop(timed), list(parts.values())

    def check(self) -> None:
        """Check that waiting synchronizes; last, because it runs extra steps."""
        if self._worker and self.steps and self.first:
            with self._phase("checks"):
                self.add(sampling.ask_for(self._worker, CheckWait(), LateFacts))

    def time_tokens(self) -> None:
        if self.steps and self._opened and self._opened.generates:
            self.request(TimeTokens(seconds=TOKENS * self._procedure.budget))

    def request(self, request: Request, phase: Phase = "steady") -> None:
        """Send a request and add what the worker reports."""
        for piece in self.pieces(request, phase):
            self.add(piece)

    def pieces(self, request: Request, phase: Phase = "steady") -> Iterator[Samples | LateFacts]:
        """Send a request; yield what the worker reports."""
        if self._worker:
            with self._phase("sampling"):
                yield from sampling.read_samples(self._worker, request, phase)

    def add(self, piece: Piece) -> None:
        self._builder.add(piece, self._process)

    def show(self, phase: Phase, **fields: Unpack[ProgressFields]) -> None:
        self._progress(Progress(case=self.case, phase=phase, **fields))

    def pause(self) -> None:
        if self._worker and self.stepped:
            self._worker.pause()

    def resume(self, renew_timeout: bool = False) -> None:
        """Count the time until now as waiting."""
        if self.status != "ok":
            return
        self._builder.spend("waiting")
        if self._worker:
            self._worker.unpause()
            if renew_timeout:
                left = max(self._entry.deadline - time.monotonic(), 0.0)
                self._worker.set_deadline(min(self._procedure.timeout, left))

    def end_if_late(self) -> None:
        if self._is_late():
            self.end("skipped", OUT_OF_TIME)

    def end(self, status: str, reason: str, spent: Mapping[str, float] | None = None) -> None:
        """End the process at once: if it hangs it would disturb others. The first status counts."""
        if status == "timeout" and self._is_late():
            status, reason = "skipped", OUT_OF_TIME
        if self.status == "ok":
            self.status, self.reason = status, reason
        self.close()
        self._builder.finish(self.status, self.reason, spent)

    def close(self) -> None:
        """End the process; then its peaks are known."""
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
        """An error in this block ends the case in this phase."""
        self._builder.begin(phase)
        try:
            yield
        except EndingError as error:
            self.end(error.status, error.reason, error.phases)
        except OSError as error:  # of this process: no file descriptor, disk full
            self.end("failed", f"assay could not go on: {error.strerror or error}")

    def _spawn(self) -> WorkerProcess:
        limit = min(self._procedure.timeout, self._entry.deadline - time.monotonic())
        if limit <= 0:
            raise EndingError("timeout", f"not finished after {self._builder.timeout:g} s")
        self.folder.mkdir(parents=True, exist_ok=True)
        return WorkerProcess(self.case, self.folder, limit)

    def _is_late(self) -> bool:
        return not self.steps and time.monotonic() >= self._entry.deadline


def check_supported(case: Case, missing: str = "") -> None:
    """Raise EndingError for a case that is known to be impossible, or if something is `missing`."""
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


def measure(plan: Plan, case: Case, case_dir: CaseDir, progress: ProgressCallback) -> Result:
    """Measure one case of a plan on this machine."""

    def open_trial(sized: Case, folder: Path, limits: Procedure) -> OpenCase:
        trial_dir = CaseDir(case_dir.id, folder)
        builder = ResultBuilder(sized, limits, trial_dir)
        return _process_of(sized, limits, trial_dir, progress, builder, 0)

    sized, search = batch_size.resolve_batch_size(case, case_dir.folder, plan.procedure, open_trial)
    mode = modes.mode_of(plan, sized, case_dir.folder)
    result = measure_case(sized, plan.procedure, case_dir, progress, mode)
    return msgspec.structs.replace(result, facts={**result.facts, **search, **mode.facts})


def measure_case(
    case: Case,
    procedure: Procedure,
    case_dir: CaseDir,
    progress: ProgressCallback,
    mode: modes.WorkerMode = modes.SPEED,
) -> Result:
    """Measure one case, one process after the other. Nothing a case does raises, nor does an
    interrupt."""
    builder = ResultBuilder(case, procedure, case_dir)
    for number in range(procedure.processes):
        open_case = _process_of(case, procedure, case_dir, progress, builder, number)
        try:
            open_case.check_support(mode.missing)
            _measure_process(open_case, procedure, builder, mode)
        except KeyboardInterrupt as error:
            open_case.end("interrupted", str(error) or "by Ctrl-C")
        finally:
            open_case.close()
        if open_case.status != "ok":
            return open_case.result()
    builder.time_reference_load()
    return builder.finish()


def _process_of(
    case: Case,
    procedure: Procedure,
    case_dir: CaseDir,
    progress: ProgressCallback,
    builder: ResultBuilder,
    number: int,
) -> OpenCase:
    """It gets its share of the budget and all remaining time; the first process uses the folder
    of the case."""
    folder = case_dir.folder / f"process-{number}" if number else case_dir.folder
    known = builder.facts if _medians(builder.samples) else NO_FACTS
    entry = HeatEntry(case.key, case, CaseDir(case_dir.id, folder), known)
    left = procedure.timeout - (builder.seconds if number else 0.0)
    share = msgspec.structs.replace(
        procedure, budget=procedure.budget / procedure.processes, timeout=max(left, 0.0)
    )
    return OpenCase(entry, share, _number_progress(progress, number, procedure), builder, number)


def _number_progress(
    progress: ProgressCallback, number: int, procedure: Procedure
) -> ProgressCallback:
    numbers = {"process": number + 1, "processes": procedure.processes}
    return lambda seen: progress(msgspec.structs.replace(seen, **numbers))


def _measure_process(
    open_case: OpenCase, procedure: Procedure, builder: ResultBuilder, mode: modes.WorkerMode
) -> None:
    """The stopping rule also uses the medians of earlier processes."""
    earlier = _medians(builder.samples)
    builder.time_reference_load()
    open_case.start()
    open_case.open()
    if mode.drive:
        mode.drive(open_case)
    else:
        open_case.start_first_step()
        open_case.first_step()
        open_case.warm_up()
        open_case.sample(partial(estimates.running_estimate, earlier=earlier))
        open_case.check()
        open_case.time_tokens()
        if procedure.communication and not earlier and _medians(builder.samples):
            modes.measure_communication(open_case)
    open_case.close()


def _medians(samples: Sequence[Samples]) -> list[float]:
    """Of the step times of the processes so far."""
    return [
        float(estimates.running_estimate(part.values).value)
        for part in samples
        if (part.metric, part.phase) == ("step_time", "steady")
    ]
