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
from typing import cast

from assay import measure, registry
from assay.childside import failure, orders_from, packages, say
from assay.contracts import Job, SelfTimed, Session, Stepped
from assay.errors import EndingError
from assay.protocol import (
    VERSION,
    Answer,
    Calibrate,
    Calibrated,
    Close,
    Done,
    Given,
    Open,
    Opened,
    Order,
    Outputs,
    Take,
    Taken,
    Tell,
    Told,
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
    for order in orders:
        if isinstance(order, Open):
            session, opened = _open(order, stack)
            say(answers, opened)
        elif isinstance(order, Close):
            stack.close()
            say(answers, Done())
            return
        else:
            for answer in _answers(order, session, born):
                say(answers, answer)


def _answers(
    order: Take | Calibrate | Tell | Outputs, session: Session, born: float
) -> Iterator[Answer]:
    match order:
        case Take(steps=steps):
            taken = measure.take(cast(Stepped, session), steps, order.count, order.seconds)
            starts = tuple(start - born for start, _ in taken)
            yield Taken(starts=starts, seconds=tuple(length for _, length in taken), steps=steps)
        case Calibrate():
            yield Calibrated(steps=measure.steps_per_sample(cast(Stepped, session)))
        case Tell():
            for report in cast(SelfTimed, session).run():
                if report.status != "ok":
                    raise EndingError(report.status, report.reason)
                yield Told(samples=report.samples)
            yield Done()
        case Outputs():
            yield _outputs(session)


def _work(session: Session, job: Job) -> dict[str, Value]:
    """Multiply-adds of one item's forward pass: from the model, and by the framework's counter."""
    found: dict[str, Value] = {"multiply_adds": job.multiply_adds} if job.multiply_adds else {}
    if offered := getattr(session, "macs", None):
        found["counted_multiply_adds"] = round(offered() / session.items)
    return found


def _outputs(session: Session) -> Given:
    offered = getattr(session, "outputs", None)
    if offered is None:
        raise EndingError("failed", "this backend cannot tell its outputs")
    found = offered()
    return Given(shape=found.shape, values=tuple(found.ravel().tolist()))


def _open(order: Open, stack: ExitStack) -> tuple[Session, Opened]:
    if order.version != VERSION:
        raise EndingError(
            "failed", f"the worker speaks protocol {VERSION}, its parent {order.version}"
        )
    start = measure.clock()
    case = order.case
    workload, backend = registry.workload(case.workload), registry.backend(case.backend)
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
        facts={**session.facts(), **_work(session, jobs[0])},
        packages=packages(),
        python={"version": sys.version.split()[0], "executable": sys.executable},
        workload_version=workload.version,
    )
    return session, opened


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
