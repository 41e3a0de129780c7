"""Which worker steps next, and when there are enough samples."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

import msgspec

from assay.protocol import Calibrate, Calibrated, Open, Opened, Order, Take, Taken, Tell, Told
from assay.records import Case, Phase, Procedure, Samples

A = TypeVar("A")

CHUNK = 0.25  # seconds of samples between two looks at whether there are enough
LEAST = 10  # samples before an interval is believed
WARMUP_SHARE = 0.3  # of the budget, at most
SETTLED = 0.05  # two halves of the warm-up whose medians differ less are the same


class Worker(Protocol):
    """A case opened in a process, as the schedule sees it."""

    def ask(self, order: Order) -> Iterator[object]:
        """The worker's answers to one order. Raises EndingError when there can be none."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a case has come."""

    case: Case
    phase: Phase
    samples: int = 0
    estimate: float = 0.0
    half_width: float = 0.0
    left: float = 0.0  # seconds of budget


Watch = Callable[[Progress], None]
Estimator = Callable[[list[float]], tuple[float, float]]  # median and half-width of its interval


def alone(
    worker: Worker, case: Case, procedure: Procedure, watch: Watch, estimate: Estimator
) -> Iterator[Opened | Samples]:
    """One case in one process: open, first step, warm-up, then samples until there are enough."""
    watch(Progress(case=case, phase="open", left=procedure.budget))
    opened = _one(worker, Open(case=case), Opened)
    yield opened
    yield Samples(metric="open_time", unit="s", phase="open", values=(opened.seconds,))
    if not opened.stepped:
        yield from _told(worker)
        return
    watch(Progress(case=case, phase="first", left=procedure.budget))
    yield _taken(worker, "first", 1, 1, procedure.budget)
    yield from _warm_up(worker, case, procedure, watch)
    steps = _steps(worker, procedure)
    yield from _steady(worker, steps, case, procedure, watch, estimate)


def _told(worker: Worker) -> Iterator[Samples]:
    for answer in worker.ask(Tell()):
        if isinstance(answer, Told):
            yield answer.samples


def _warm_up(worker: Worker, case: Case, procedure: Procedure, watch: Watch) -> Iterator[Samples]:
    """Single steps, until the second half of them is as fast as the first half or time is up."""
    taken: list[float] = []
    limit = procedure.budget * WARMUP_SHARE
    while sum(taken) < limit:
        watch(Progress(case=case, phase="warmup", samples=len(taken), left=procedure.budget))
        part = _taken(worker, "warmup", 1, 1000, min(CHUNK, limit))
        taken += part.values
        yield part
        half = len(taken) // 2
        if half < 2:
            continue
        early, late = statistics.median(taken[:half]), statistics.median(taken[half:])
        if abs(late - early) <= SETTLED * early:
            return


def _steps(worker: Worker, procedure: Procedure) -> int:
    if procedure.latency:
        return 1
    return procedure.steps_per_sample or _one(worker, Calibrate(), Calibrated).steps


def _steady(
    worker: Worker,
    steps: int,
    case: Case,
    procedure: Procedure,
    watch: Watch,
    estimate: Estimator,
) -> Iterator[Samples]:
    taken: list[float] = []
    spent = 0.0
    while True:
        most = procedure.samples - len(taken) if procedure.samples else 10_000
        part = _taken(worker, "steady", steps, most, CHUNK)
        taken += part.values
        spent += sum(part.values) * steps
        middle, half_width = estimate(taken)
        watch(
            Progress(
                case=case,
                phase="steady",
                samples=len(taken),
                estimate=middle,
                half_width=half_width,
                left=max(0.0, procedure.budget - spent),
            )
        )
        yield part
        if _enough(procedure, len(taken), spent, half_width / middle):
            return


def _enough(procedure: Procedure, count: int, spent: float, half_width: float) -> bool:
    if procedure.samples:
        return count >= procedure.samples
    narrow = count >= LEAST and half_width <= procedure.target
    return narrow or spent >= procedure.budget


def _taken(worker: Worker, phase: Phase, steps: int, count: int, seconds: float) -> Samples:
    answer = _one(worker, Take(steps=steps, count=count, seconds=seconds), Taken)
    return Samples(
        metric="step_time",
        unit="s",
        phase=phase,
        values=tuple(length / steps for length in answer.seconds),
        starts=answer.starts,
        steps=steps,
    )


def _one(worker: Worker, order: Order, kind: type[A]) -> A:
    for answer in worker.ask(order):
        if isinstance(answer, kind):
            return answer
    raise TypeError(f"no {kind.__name__} came to {order}")
