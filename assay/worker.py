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
from typing import cast

from assay import measure, registry
from assay.backends import _digest
from assay.childside import failure, orders_from, packages, say
from assay.contracts import Backend, Job, Profiling, SelfTimed, Session, Stepped
from assay.errors import EndingError
from assay.protocol import (
    VERSION,
    Answer,
    Calibrate,
    Calibrated,
    Check,
    Checked,
    Close,
    Done,
    Evaluate,
    Given,
    Open,
    Opened,
    Order,
    Outputs,
    Profile,
    Take,
    Taken,
    Tell,
    Told,
    Train,
)
from assay.records import Value


def main() -> None:
    faulthandler.enable()  # a segmentation fault leaves its Python stack in the log
    orders, answers = orders_from(int(sys.argv[1])), int(sys.argv[2])
    try:
        with ExitStack() as stack:
            _obey(orders, answers, stack)
    except Exception as error:  # every ending is a result
        traceback.print_exc()
        say(answers, failure(error))
        sys.exit(1)


def _obey(orders: Iterator[Order], answers: int, stack: ExitStack) -> None:
    """Open first, then whatever is asked of the session, until told to close."""
    born = measure.clock()
    session: Session
    job: Job
    backend: Backend
    for order in orders:
        if isinstance(order, Open):
            backend = registry.backend(order.case.backend)
            session, job, opened = _open(order, backend, stack)
            say(answers, opened)
        elif isinstance(order, Close):
            stack.close()
            say(answers, Done())
            return
        else:
            for answer in _answers(order, session, job, backend, born):
                say(answers, answer)


def _answers(
    order: Take | Calibrate | Tell | Outputs | Check | Evaluate | Train | Profile,
    session: Session,
    job: Job,
    backend: Backend,
    born: float,
) -> Iterator[Answer]:
    match order:
        case Take(steps=steps):
            found = measure.take(cast(Stepped, session), steps, order.count, order.seconds)
            yield _taken(found, steps, born)
        case Calibrate():
            yield Calibrated(steps=measure.steps_per_sample(cast(Stepped, session)))
        case Tell():
            yield from _told(cast(SelfTimed, session))
            yield Done()
        case Outputs():
            yield _outputs(session)
        case Check():
            yield _checked(session)
        case Profile():
            yield from _profiled(order, session, backend, born)
        case _:
            yield from _learned(order, session, job)


def _learned(order: Evaluate | Train, session: Session, job: Job) -> Iterator[Answer]:
    """What a model has learned, or is to learn."""
    if isinstance(order, Train):
        yield from _trained(order, session)
        yield Checked(facts=dict(session.facts()))  # of the trained model, with what was saved
    else:
        from assay.evaluation import evaluated  # with numpy, which not every worker has

        yield from evaluated(order, session, job)


def _profiled(order: Profile, session: Session, backend: Backend, born: float) -> Iterator[Answer]:
    """Answered when the trace is written."""
    if not isinstance(backend, Profiling):
        raise EndingError("skipped", "this backend has no profiler")
    found: list[tuple[float, float]] = []
    told: list[Answer] = []
    with backend.profile(Path(order.folder)) as mark:
        if isinstance(session, Stepped):
            for number in range(order.steps):
                with mark(number):
                    found.append(measure.time_steps(session, 1))
        else:
            told += _told(session)
    yield from told or [_taken(found, 1, born)]
    if told:
        yield Done()


def _taken(found: list[tuple[float, float]], steps: int, born: float) -> Taken:
    starts = tuple(start - born for start, _ in found)
    return Taken(starts=starts, seconds=tuple(length for _, length in found), steps=steps)


def _told(session: SelfTimed) -> Iterator[Told]:
    for report in session.run():
        if report.status != "ok":
            raise EndingError(report.status, report.reason)
        yield Told(samples=report.samples)


def _trained(order: Train, session: Session) -> Iterator[Told]:
    offered = getattr(session, "train", None)
    if offered is None:
        raise EndingError("skipped", "this backend cannot train; those of Keras can")
    for report in offered(order):
        yield Told(samples=report.samples)


def _evidence(session: Session, job: Job, outputs: bool) -> dict[str, Value]:
    """What shows that contenders do the same work, as far as the session can tell.

    Multiply-adds are those of one item's forward pass: from the model, and by the framework's
    counter. Outputs and weights are those before the first step.
    """
    found: dict[str, Value] = {"multiply_adds": job.multiply_adds} if job.multiply_adds else {}
    # what only infers may loop, and of a loop frameworks trace the body once
    own = getattr(session, "multiply_adds", None) if job.trains and not found else None
    if own and (counted := own()):
        found["multiply_adds"] = round(counted / session.items)
    if (offered := getattr(session, "macs", None)) and (counted := offered()):
        found["counted_multiply_adds"] = round(counted / session.items)
    if offered := getattr(session, "product_dtypes", None):
        found["product_dtypes"] = offered()
    if outputs and (offered := getattr(session, "weights", None)):
        found |= _digest.of_weights(offered())
    if outputs and (offered := getattr(session, "outputs", None)):
        found |= _digest.of_outputs(offered())
    return found


def _outputs(session: Session) -> Given:
    offered = getattr(session, "outputs", None)
    if offered is None:
        raise EndingError("failed", "this backend cannot tell its outputs")
    found = offered()
    return Given(shape=found.shape, values=tuple(found.ravel().tolist()))


def _checked(session: Session) -> Checked:
    read = getattr(session, "outputs", None)
    if read is None or not isinstance(session, Stepped):
        return Checked(facts={})
    return Checked(facts={"unwaited": measure.unwaited(session, read)})


def _open(order: Open, backend: Backend, stack: ExitStack) -> tuple[Session, Job, Opened]:
    if order.version != VERSION:
        raise EndingError(
            "failed", f"the worker speaks protocol {VERSION}, its parent {order.version}"
        )
    start = measure.clock()
    case = order.case
    workload = registry.workload(case.workload)
    kind = next(kind for kind in workload.kinds if kind in backend.accepts)
    jobs: list[Job] = []

    def build() -> Job:
        jobs.append(workload.kinds[kind](**case.params))
        return jobs[0]

    lacking = backend.missing()
    if lacking:
        raise EndingError("skipped", f"in {sys.prefix}, {lacking}")
    _keep_to(case.options.get("threads", "all"))
    _bound(order.memory)
    session = stack.enter_context(backend.open(build, case))
    opened = Opened(
        seconds=measure.clock() - start,
        items=session.items,
        stepped=isinstance(session, Stepped),
        facts={
            **session.facts(),
            **_evidence(session, jobs[0], order.outputs),
            **jobs[0].facts,
        },
        packages=packages(),
        python={"version": sys.version.split()[0], "executable": sys.executable},
        workload_version=workload.version,
        outputs=hasattr(session, "outputs"),
    )
    return session, jobs[0], opened


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


if __name__ == "__main__":
    main()
