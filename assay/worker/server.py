"""The worker process: it opens one case and answers requests; only it imports frameworks.

Started as `PYTHON -m assay.worker IN OUT` with two inherited pipes. It needs the standard library,
msgspec and what it measures only, so that it runs in any virtual environment.
"""

from __future__ import annotations

import faulthandler
import math
import os
import resource
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Never, cast

import msgspec

from assay.core import fingerprint, messages, phases, registry
from assay.core.clock import clock
from assay.core.contracts import Backend, ProfilingBackend, WithTrust
from assay.core.errors import AssayError, EndingError
from assay.core.records import TIMER_RESOLUTION, Case, Value, arguments
from assay.core.sessions import (
    CountedByFramework,
    CountedByModel,
    CountsExecuted,
    Generating,
    HasOutputs,
    HasProductDtypes,
    HasRead,
    HasSampledOutputs,
    HasWeights,
    Job,
    SelfTimed,
    Session,
    Stepped,
    TrainingSession,
)
from assay.core.settings import CACHED_WEIGHTS, SHARED_CACHE
from assay.worker import timing, work_check
from assay.worker.protocol import failure, packages, read_requests, send
from assay.worker.rotation import rotate_inputs


def main() -> None:
    faulthandler.enable()  # a segmentation fault leaves its Python stack in the log
    requests, answers = read_requests(int(sys.argv[1])), int(sys.argv[2])
    try:
        with ExitStack() as stack:
            _serve(requests, answers, stack)
    except Exception as error:  # every failure is a result
        _fail(answers, error, {})


def _fail(answers: int, error: Exception, spent: dict[str, float]) -> Never:
    traceback.print_exc()
    send(answers, msgspec.structs.replace(failure(error), phases=spent))
    sys.exit(1)


def _serve(requests: Iterator[messages.Request], answers: int, stack: ExitStack) -> None:
    """Open comes first, then requests to the session, until Close."""
    born = clock()
    session: Session
    job: Job
    backend: Backend
    watch: work_check.WorkWatch
    for request in requests:
        if isinstance(request, messages.Open):
            backend = registry.backend(request.case.backend)
            session, job, opened, watch = _open(request, backend, stack, answers)
            send(answers, opened)
        elif isinstance(request, messages.Close):
            stack.close()
            send(answers, messages.Done())
            return
        else:
            for answer in _answers(request, session, job, backend, watch, born):
                send(answers, answer)


def _answers(
    request: messages.Request,
    session: Session,
    job: Job,
    backend: Backend,
    watch: work_check.WorkWatch,
    born: float,
) -> Iterator[messages.Response]:
    match request:
        case messages.TakeSamples(steps=steps):
            times = timing.take(cast(Stepped, session), steps, request.count, request.seconds)
            watch.see_step(session)
            yield _timed_steps(times, steps, born)
        case messages.Calibrate():
            yield _calibrate(cast(Stepped, session))
        case messages.RunSelfTimed() | messages.TimeTokens():
            yield from _timed_reports(request, session)
            yield messages.Done()
        case messages.GetOutputs():
            yield _outputs(session)
        case messages.CheckWait():
            yield messages.LateFacts(facts={**watch.check(session), **_check_wait(session)})
        case messages.ProfileSteps():
            yield from _profile(request, session, backend, born)
        case messages.Evaluate() | messages.Train():
            yield from _evaluate_or_train(request, session, job)


def _calibrate(session: Stepped) -> messages.Calibrated:
    queued = not str(session.facts().get("device", "cpu")).startswith("cpu")
    return messages.Calibrated(steps=timing.steps_per_sample(session, queued=queued))


def _timed_reports(
    request: messages.RunSelfTimed | messages.TimeTokens, session: Session
) -> Iterator[messages.Reported]:
    """All that a self-timed session reports, or times of tokens."""
    if isinstance(request, messages.TimeTokens):
        for samples in timing.time_tokens(cast(timing.TextSession, session), request):
            yield messages.Reported(samples=samples)
    else:
        yield from _reports(cast(SelfTimed, session))


def _evaluate_or_train(
    request: messages.Evaluate | messages.Train, session: Session, job: Job
) -> Iterator[messages.Response]:
    if isinstance(request, messages.Train):
        yield from _train(request, session)
        # of the trained model, with what was saved
        yield messages.LateFacts(facts=dict(session.facts()))
    else:
        from assay.worker.evaluate import evaluate  # with numpy, which not every worker has

        yield from evaluate(request, session, job)


def _profile(
    request: messages.ProfileSteps, session: Session, backend: Backend, born: float
) -> Iterator[messages.Response]:
    """Answers when the trace is written."""
    if not isinstance(backend, ProfilingBackend):
        raise EndingError("skipped", "this backend has no profiler")
    times: list[tuple[float, float]] = []
    reported: list[messages.Response] = []
    with backend.profile(Path(request.folder)) as mark:
        if isinstance(session, Stepped):
            for number in range(request.steps):
                with mark(number):
                    times.append(timing.time_steps(session, 1))
        else:
            reported += _reports(session)
    yield from reported or [_timed_steps(times, 1, born)]
    if reported:
        yield messages.Done()


def _timed_steps(times: list[tuple[float, float]], steps: int, born: float) -> messages.TimedSteps:
    starts = tuple(start - born for start, _ in times)
    return messages.TimedSteps(
        starts=starts, seconds=tuple(length for _, length in times), steps=steps
    )


def _reports(session: SelfTimed) -> Iterator[messages.Reported]:
    for report in session.run():
        if report.status != "ok":
            raise EndingError(report.status, report.reason)
        yield messages.Reported(samples=report.samples)


def _train(request: messages.Train, session: Session) -> Iterator[messages.Reported]:
    if not isinstance(session, TrainingSession):
        raise EndingError("skipped", "this backend cannot train; those of Keras can")
    for report in session.train(request):
        yield messages.Reported(samples=report.samples)


def _outputs(session: Session) -> messages.OutputValues:
    if not isinstance(session, HasOutputs):
        raise EndingError("failed", "this backend cannot show its outputs")
    shape, values = sample_outputs(session)
    return messages.OutputValues(shape=shape, values=tuple(values.tolist()))


def _check_wait(session: Session) -> dict[str, Value]:
    if not isinstance(session, HasOutputs) or not isinstance(session, Stepped):
        return {}
    read = session.read if isinstance(session, HasRead) else lambda: sample_outputs(session)
    return {"unwaited": timing.unsynchronized_share(session, read)}


def _open(
    request: messages.Open, backend: Backend, stack: ExitStack, answers: int
) -> tuple[Session, Job, messages.Opened, work_check.WorkWatch]:
    start = clock()
    try:
        with phases.record_phases() as spent:
            session, job, opened, watch = _open_session(request, backend, stack, start)
    except Exception as error:
        _fail(answers, error, spent.seconds)
    watch.see_facts(session, opened.facts)
    return session, job, msgspec.structs.replace(opened, phases=spent.seconds), watch


def _open_session(
    request: messages.Open, backend: Backend, stack: ExitStack, start: float
) -> tuple[Session, Job, messages.Opened, work_check.WorkWatch]:
    if request.version not in (messages.VERSION, messages.TRUST_VERSION):
        raise EndingError(
            "failed", f"the worker speaks protocol {messages.VERSION}, its parent {request.version}"
        )
    case = request.case
    workload = registry.workload(case.workload)
    if case.trust and isinstance(workload, WithTrust):
        workload = workload.trusted()
    kind = next(kind for kind in workload.kinds if kind in backend.accepts)
    jobs: list[Job] = []

    def build() -> Job:
        jobs.append(workload.kinds[kind](**arguments(case.params, workload.params)))
        return jobs[0]

    missing = backend.missing()
    if missing:
        raise EndingError("skipped", f"in {sys.prefix}, {missing}")
    _pin_threads(case.options.get("threads", "all"))
    _limit_memory(request.memory)
    with _NoteExampleErrors(case, jobs):
        session = stack.enter_context(backend.open(build, case))
        with phases.during("checks"):
            watch = work_check.WorkWatch(session, str(case.options.get("precision", "")))
            job = jobs[0] if jobs else Job(model=None)  # a cached capture needs none
            facts = {**session.facts(), **_cache(), **evidence(session, job, request)}
            facts |= rotate_inputs(session, case.options.get("inputs", "same"))
            loaded = packages()
    opened = messages.Opened(
        seconds=clock() - start,
        items=session.items,
        stepped=isinstance(session, Stepped),
        facts={**facts, **job.facts, **_timed_over(session), **_coarse_clock()},
        packages=loaded,
        python={"version": sys.version.split()[0], "executable": sys.executable},
        workload_version=workload.version,
        outputs=isinstance(session, HasOutputs),
        generates=_generates(session),
    )
    return session, job, opened, watch


def _cache() -> dict[str, Value]:
    shared = {"compiled_code": SHARED_CACHE, "drawn_weights": CACHED_WEIGHTS}
    return {name: "shared" for name, folder in shared.items() if os.environ.get(folder)}


def _coarse_clock() -> dict[str, Value]:
    step = timing.clock_step()
    return {TIMER_RESOLUTION: step} if timing.COARSE <= step < math.inf else {}


def _generates(session: Session) -> bool:
    return isinstance(session, Generating) and session.tokens > 0


def _timed_over(session: Session) -> dict[str, Value]:
    """Of text: whether times per token are of single tokens or of whole requests."""
    if not isinstance(session, Generating) or not session.tokens:
        return {}
    return {"timed_over": "tokens" if session.sees_tokens else "requests"}


class _NoteExampleErrors:
    """Adds a note to errors of a bare model or a model file: it was called with its example."""

    def __init__(self, case: Case, jobs: list[Job]) -> None:
        self._case, self._jobs = case, jobs

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        ours = isinstance(error, AssayError | EndingError)
        if error is not None and not ours and self._jobs and self._jobs[0].as_given:
            error.add_note(f"{self._case.workload} does not run on its example: ")


def _pin_threads(threads: Value) -> None:
    """Limit the CPUs of the process, which every framework respects."""
    if isinstance(threads, int):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _limit_memory(memory: int) -> None:
    """Limit private memory: an allocation beyond it fails with the framework's own error.

    RLIMIT_DATA counts writable memory; RLIMIT_AS would count address space that frameworks only
    reserve.
    """
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def evidence(session: Session, job: Job, request: messages.Open) -> dict[str, Value]:
    """Facts that show whether contenders do the same work.

    Multiply-adds are of one item's forward pass: from the model, and by the framework's counter.
    Outputs and weights are those before the first step.
    """
    facts: dict[str, Value] = {"multiply_adds": job.multiply_adds} if job.multiply_adds else {}
    return facts | (_counts(session, job) if request.counts else {}) | _digests(session, request)


def _counts(session: Session, job: Job) -> dict[str, Value]:
    facts: dict[str, Value] = {}
    ask_model = not job.loops and not job.multiply_adds
    if ask_model and isinstance(session, CountedByModel) and (counted := session.multiply_adds()):
        facts["multiply_adds"] = round(counted / session.items)
    if isinstance(session, CountedByFramework) and not job.loops and (counted := session.macs()):
        facts["counted_multiply_adds"] = round(counted / session.items)
        facts |= _executed(session, counted, facts.get("multiply_adds", job.multiply_adds))
    if isinstance(session, HasProductDtypes):
        facts["product_dtypes"] = session.product_dtypes()
    return facts


def _executed(session: Session, counted: float, stated: Value) -> dict[str, Value]:
    """Of the best known algorithms: the share of the counted work, of the stated work if any."""
    if not isinstance(session, CountsExecuted):
        return {}
    work = float(stated) or counted / session.items
    return {"executed_multiply_adds": round(work * session.executed_macs() / counted)}


def _digests(session: Session, request: messages.Open) -> dict[str, Value]:
    facts: dict[str, Value] = {}
    if request.outputs and isinstance(session, HasWeights):
        facts |= fingerprint.fingerprint_weights(session.weights())
    if request.outputs and isinstance(session, HasOutputs):
        facts |= fingerprint.fingerprint_outputs(*sample_outputs(session))
    return facts


def sample_outputs(session: HasOutputs) -> tuple[tuple[int, ...], Any]:
    if isinstance(session, HasSampledOutputs):
        return session.sampled_outputs()
    return fingerprint.sample_values(session.outputs())
