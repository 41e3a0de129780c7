"""The child process: it opens one case, obeys the parent's orders, and alone imports frameworks.

Started as `PYTHON -m assay.worker IN OUT` with two inherited pipes. It needs the standard library,
msgspec and what it measures, so that any virtual environment can hold it.
"""

from __future__ import annotations

import faulthandler
import os
import queue
import re
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import ExitStack
from typing import cast

import msgspec

from assay import measure, registry
from assay.contracts import Job, SelfTimed, Session, Stepped
from assay.errors import AssayError, EndingError
from assay.protocol import (
    VERSION,
    Answer,
    Calibrate,
    Calibrated,
    Close,
    Done,
    Failed,
    Given,
    Open,
    Opened,
    Order,
    Outputs,
    Take,
    Taken,
    Tell,
    Told,
    pack,
    unpack,
)
from assay.records import Value

# How the frameworks word it when a device or the host has no memory left.
_OUT_OF_MEMORY = (
    "RESOURCE_EXHAUSTED",
    "out of memory",
    "OOM when allocating",
    "Unable to allocate",
    "can't allocate memory",
    "Cannot allocate memory",
    "bad_alloc",
)


def main() -> None:
    faulthandler.enable()  # a segmentation fault leaves its Python stack in the log
    orders, answers = _orders(int(sys.argv[1])), int(sys.argv[2])
    try:
        with ExitStack() as stack:
            _obey(orders, answers, stack)
    except Exception as error:  # every ending is a result
        traceback.print_exc()
        _say(answers, _failure(error))
        sys.exit(1)


def _obey(orders: Iterator[Order], answers: int, stack: ExitStack) -> None:
    """Open first, then whatever is asked of the session, until told to close."""
    born = measure.clock()
    session: Session
    for order in orders:
        if isinstance(order, Open):
            session, opened = _open(order, stack)
            _say(answers, opened)
        elif isinstance(order, Close):
            stack.close()
            _say(answers, Done())
            return
        else:
            for answer in _answers(order, session, born):
                _say(answers, answer)


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
        packages=_packages(),
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


def _packages() -> dict[str, str]:
    """Versions of the packages this process has loaded: those that can have made the number."""
    from importlib import metadata

    loaded = {name.partition(".")[0] for name in sys.modules}
    owners = metadata.packages_distributions()
    return {
        owner: metadata.version(owner)
        for owner in sorted({owner for name in loaded for owner in owners.get(name, ())})
    }


def _failure(error: Exception) -> Failed:
    if isinstance(error, EndingError):
        return Failed(status=error.status, reason=error.reason)
    words = _words(error)
    if isinstance(error, MemoryError) or any(sign in words for sign in _OUT_OF_MEMORY):
        return Failed(status="out-of-memory", reason=f"{type(error).__name__}: {words}")
    if isinstance(error, AssayError):
        return Failed(status="failed", reason=f"{words} {error.hint}".strip())
    return Failed(status="failed", reason=f"{type(error).__name__}: {words}")


def _words(error: Exception) -> str:
    """The error's text without colours and the stack that TensorFlow puts into it."""
    lines = re.sub(r"\x1b\[\d*m", "", str(error)).splitlines()
    told = [line for line in lines if line.strip() and not line.lstrip().startswith('File "')]
    return "\n".join(told) or type(error).__name__


def _orders(pipe: int) -> Iterator[Order]:
    """Orders as they come. When the parent is gone, this whole process group ends at once."""
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def listen() -> None:
        buffer = bytearray()
        while chunk := os.read(pipe, 65536):
            buffer += chunk
            for body in unpack(buffer):
                inbox.put(body)
        os.killpg(os.getpid(), signal.SIGKILL)  # the group is ours: launch made it so

    threading.Thread(target=listen, daemon=True).start()
    decoder = msgspec.msgpack.Decoder(Order)
    while True:
        yield decoder.decode(inbox.get())


def _say(pipe: int, answer: Answer) -> None:
    data = memoryview(pack(answer))
    while data:
        data = data[os.write(pipe, data) :]


if __name__ == "__main__":
    main()
