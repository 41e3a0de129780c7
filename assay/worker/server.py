"""The child process: it opens one case, obeys the parent's orders, and alone imports frameworks.

Started as `PYTHON -m assay.worker IN OUT` with two inherited pipes. It needs the standard library,
msgspec and what it measures, so that any virtual environment can hold it.
"""

from __future__ import annotations

import faulthandler
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
from assay.core.records import Case, Value, arguments
from assay.core.sessions import (
    CountedByFramework,
    CountedByModel,
    Generating,
    Job,
    SelfTimed,
    Session,
    Stepped,
    TrainingSession,
    WithOutputs,
    WithProductDtypes,
    WithRead,
    WithSampledOutputs,
    WithWeights,
)
from assay.core.settings import KEPT_WEIGHTS, SHARED_CACHE
from assay.worker import timing
from assay.worker.protocol import failure, orders_from, packages, say


def main() -> None:
    faulthandler.enable()  # a segmentation fault leaves its Python stack in the log
    orders, answers = orders_from(int(sys.argv[1])), int(sys.argv[2])
    try:
        with ExitStack() as stack:
            _obey(orders, answers, stack)
    except Exception as error:  # every ending is a result
        _fail(answers, error, {})


def _fail(answers: int, error: Exception, spent: dict[str, float]) -> Never:
    traceback.print_exc()
    say(answers, msgspec.structs.replace(failure(error), phases=spent))
    sys.exit(1)


def _obey(orders: Iterator[messages.Request], answers: int, stack: ExitStack) -> None:
    """Open first, then whatever is asked of the session, until told to close."""
    born = clock()
    session: Session
    job: Job
    backend: Backend
    for order in orders:
        if isinstance(order, messages.Open):
            backend = registry.backend(order.case.backend)
            session, job, opened = _open(order, backend, stack, answers)
            say(answers, opened)
        elif isinstance(order, messages.Close):
            stack.close()
            say(answers, messages.Done())
            return
        else:
            for answer in _answers(order, session, job, backend, born):
                say(answers, answer)


def _answers(
    order: messages.Request,
    session: Session,
    job: Job,
    backend: Backend,
    born: float,
) -> Iterator[messages.Answer]:
    match order:
        case messages.TakeSamples(steps=steps):
            found = timing.take(cast(Stepped, session), steps, order.count, order.seconds)
            yield _timed(found, steps, born)
        case messages.Calibrate():
            yield _calibrated(cast(Stepped, session))
        case messages.RunSelfTimed() | messages.TimeTokens():
            yield from _told(order, session)
            yield messages.Done()
        case messages.GetOutputs():
            yield _outputs(session)
        case messages.CheckWait():
            yield _checked(session)
        case messages.ProfileSteps():
            yield from _profiled(order, session, backend, born)
        case messages.Evaluate() | messages.Train():
            yield from _learned(order, session, job)


def _calibrated(session: Stepped) -> messages.Calibrated:
    queued = not str(session.facts().get("device", "cpu")).startswith("cpu")
    return messages.Calibrated(steps=timing.steps_per_sample(session, queued=queued))


def _told(
    order: messages.RunSelfTimed | messages.TimeTokens, session: Session
) -> Iterator[messages.Reported]:
    """What is timed by itself: all that a session does, or the tokens it makes."""
    if isinstance(order, messages.TimeTokens):
        for samples in timing.timed(cast(timing.TextSession, session), order):
            yield messages.Reported(samples=samples)
    else:
        yield from _reports(cast(SelfTimed, session))


def _learned(
    order: messages.Evaluate | messages.Train, session: Session, job: Job
) -> Iterator[messages.Answer]:
    """What a model has learned, or is to learn."""
    if isinstance(order, messages.Train):
        yield from _trained(order, session)
        # of the trained model, with what was saved
        yield messages.LateFacts(facts=dict(session.facts()))
    else:
        from assay.worker.evaluate import evaluated  # with numpy, which not every worker has

        yield from evaluated(order, session, job)


def _profiled(
    order: messages.ProfileSteps, session: Session, backend: Backend, born: float
) -> Iterator[messages.Answer]:
    """Answered when the trace is written."""
    if not isinstance(backend, ProfilingBackend):
        raise EndingError("skipped", "this backend has no profiler")
    found: list[tuple[float, float]] = []
    reported: list[messages.Answer] = []
    with backend.profile(Path(order.folder)) as mark:
        if isinstance(session, Stepped):
            for number in range(order.steps):
                with mark(number):
                    found.append(timing.time_steps(session, 1))
        else:
            reported += _reports(session)
    yield from reported or [_timed(found, 1, born)]
    if reported:
        yield messages.Done()


def _timed(found: list[tuple[float, float]], steps: int, born: float) -> messages.TimedSteps:
    starts = tuple(start - born for start, _ in found)
    return messages.TimedSteps(
        starts=starts, seconds=tuple(length for _, length in found), steps=steps
    )


def _reports(session: SelfTimed) -> Iterator[messages.Reported]:
    for report in session.run():
        if report.status != "ok":
            raise EndingError(report.status, report.reason)
        yield messages.Reported(samples=report.samples)


def _trained(order: messages.Train, session: Session) -> Iterator[messages.Reported]:
    if not isinstance(session, TrainingSession):
        raise EndingError("skipped", "this backend cannot train; those of Keras can")
    for report in session.train(order):
        yield messages.Reported(samples=report.samples)


def _outputs(session: Session) -> messages.OutputValues:
    if not isinstance(session, WithOutputs):
        raise EndingError("failed", "this backend cannot show its outputs")
    shape, found = sampled(session)
    return messages.OutputValues(shape=shape, values=tuple(found.tolist()))


def _checked(session: Session) -> messages.LateFacts:
    if not isinstance(session, WithOutputs) or not isinstance(session, Stepped):
        return messages.LateFacts(facts={})
    read = session.read if isinstance(session, WithRead) else lambda: sampled(session)
    return messages.LateFacts(facts={"unwaited": timing.unwaited(session, read)})


def _open(
    order: messages.Open, backend: Backend, stack: ExitStack, answers: int
) -> tuple[Session, Job, messages.Opened]:
    start = clock()
    try:
        with phases.recorded() as spent:
            session, job, opened = _opened(order, backend, stack, start)
    except Exception as error:
        _fail(answers, error, spent.seconds)
    return session, job, msgspec.structs.replace(opened, phases=spent.seconds)


def _opened(
    order: messages.Open, backend: Backend, stack: ExitStack, start: float
) -> tuple[Session, Job, messages.Opened]:
    if order.version not in (messages.VERSION, messages.WITH_TRUST):
        raise EndingError(
            "failed", f"the worker speaks protocol {messages.VERSION}, its parent {order.version}"
        )
    case = order.case
    workload = registry.workload(case.workload)
    if case.trust and isinstance(workload, WithTrust):
        workload = workload.trusted()
    kind = next(kind for kind in workload.kinds if kind in backend.accepts)
    jobs: list[Job] = []

    def build() -> Job:
        jobs.append(workload.kinds[kind](**arguments(case.params, workload.params)))
        return jobs[0]

    lacking = backend.missing()
    if lacking:
        raise EndingError("skipped", f"in {sys.prefix}, {lacking}")
    _keep_to(case.options.get("threads", "all"))
    _bound(order.memory)
    with _OnItsExample(case, jobs):
        session = stack.enter_context(backend.open(build, case))
        with phases.during("checks"):
            job = jobs[0] if jobs else Job(model=None)  # none was built for what is kept captured
            facts = {**session.facts(), **_cache(), **evidence(session, job, order)}
            loaded = packages()
    opened = messages.Opened(
        seconds=clock() - start,
        items=session.items,
        stepped=isinstance(session, Stepped),
        facts={**facts, **job.facts, **_timed_over(session)},
        packages=loaded,
        python={"version": sys.version.split()[0], "executable": sys.executable},
        workload_version=workload.version,
        outputs=isinstance(session, WithOutputs),
        generates=_generates(session),
    )
    return session, job, opened


def _cache() -> dict[str, Value]:
    shared = {"compiled_code": SHARED_CACHE, "drawn_weights": KEPT_WEIGHTS}
    return {name: "shared" for name, folder in shared.items() if os.environ.get(folder)}


def _generates(session: Session) -> bool:
    return isinstance(session, Generating) and session.tokens > 0


def _timed_over(session: Session) -> dict[str, Value]:
    """Of text: what its times per token are times of."""
    if not isinstance(session, Generating) or not session.tokens:
        return {}
    return {"timed_over": "tokens" if session.sees_tokens else "requests"}


class _OnItsExample:
    """What a bare model or a model file fails over is said to be its example."""

    def __init__(self, case: Case, jobs: list[Job]) -> None:
        self._case, self._jobs = case, jobs

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        ours = isinstance(error, AssayError | EndingError)
        if error is not None and not ours and self._jobs and self._jobs[0].as_given:
            error.add_note(f"{self._case.workload} does not run on its example: ")


def _keep_to(threads: Value) -> None:
    """So many CPUs for the whole process: the one limit every framework obeys."""
    if isinstance(threads, int):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def _bound(memory: int) -> None:
    """So many bytes of private memory: an allocation beyond them fails, in the framework's words.

    RLIMIT_DATA counts what can be written to; RLIMIT_AS would count address space that the
    frameworks only reserve.
    """
    if memory:
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def evidence(session: Session, job: Job, order: messages.Open) -> dict[str, Value]:
    """What shows that contenders do the same work, as far as the session can tell.

    Multiply-adds are those of one item's forward pass: from the model, and by the framework's
    counter. Outputs and weights are those before the first step.
    """
    found: dict[str, Value] = {"multiply_adds": job.multiply_adds} if job.multiply_adds else {}
    return found | (_counts(session, job) if order.counts else {}) | _digests(session, order)


def _counts(session: Session, job: Job) -> dict[str, Value]:
    found: dict[str, Value] = {}
    ask_model = not job.loops and not job.multiply_adds
    if ask_model and isinstance(session, CountedByModel) and (counted := session.multiply_adds()):
        found["multiply_adds"] = round(counted / session.items)
    if isinstance(session, CountedByFramework) and not job.loops and (counted := session.macs()):
        found["counted_multiply_adds"] = round(counted / session.items)
    if isinstance(session, WithProductDtypes):
        found["product_dtypes"] = session.product_dtypes()
    return found


def _digests(session: Session, order: messages.Open) -> dict[str, Value]:
    found: dict[str, Value] = {}
    if order.outputs and isinstance(session, WithWeights):
        found |= fingerprint.of_weights(session.weights())
    if order.outputs and isinstance(session, WithOutputs):
        found |= fingerprint.of_outputs(*sampled(session))
    return found


def sampled(session: WithOutputs) -> tuple[tuple[int, ...], Any]:
    if isinstance(session, WithSampledOutputs):
        return session.sampled_outputs()
    found = session.outputs()
    flat = found.ravel()
    return found.shape, flat[fingerprint.places(len(flat))]
