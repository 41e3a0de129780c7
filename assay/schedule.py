"""Which worker steps next, and when there are enough samples."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Protocol, TypeVar

import msgspec

from assay.analysis.intervals import Estimate
from assay.analysis.stopping import confirmed, narrow, next_look
from assay.analysis.warmup import find_steady
from assay.protocol import (
    Calibrate,
    Calibrated,
    Check,
    Checked,
    Evaluate,
    Open,
    Opened,
    Order,
    Profile,
    Take,
    Taken,
    Tell,
    Told,
    Train,
)
from assay.records import Case, Phase, Procedure, Samples
from assay.units import human

A = TypeVar("A")

FIRST = Take(steps=1, count=1, seconds=0.0)  # the first step: it compiles
CHUNK = 0.25  # seconds of samples between two orders, so that progress is seen
WARMUP_SHARE = 0.3  # of the budget, at most
BEFORE_PROFILE = 5  # steps at most, so that what is profiled is no first step
MOST = 1_000_000  # samples of one phase, should a clock stand still


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
    note: str = ""  # what a training tells


Watch = Callable[[Progress], None]
Estimator = Callable[[list[float]], Estimate]
Piece = Opened | Samples | Checked
Pieces = Iterator[Piece]  # what becomes of a case, as it comes


def alone(
    worker: Worker, case: Case, procedure: Procedure, watch: Watch, estimate: Estimator
) -> Pieces:
    """One case in one process: made warm, then samples until there are enough."""
    steps = yield from warmed(worker, case, procedure, watch)
    if steps:
        yield from _steady(worker, steps, case, procedure, watch, estimate)
        yield ask_one(worker, Check(), Checked)
    else:
        yield from told(worker)


def warmed(
    worker: Worker, case: Case, procedure: Procedure, watch: Watch
) -> Generator[Opened | Samples, None, int]:
    """Open, first step, warm-up; at the end how many steps make a sample, 0 if it times itself."""
    watch(Progress(case=case, phase="open", left=procedure.budget))
    opened = ask_one(worker, Open(case=case), Opened)
    yield opened
    yield open_time(opened)
    if not opened.stepped:
        return 0
    watch(Progress(case=case, phase="first", left=procedure.budget))
    yield samples(ask_one(worker, FIRST, Taken), "first")
    return (yield from settled(worker, case, procedure, watch))


def settled(
    worker: Worker, case: Case, procedure: Procedure, watch: Watch
) -> Generator[Samples, None, int]:
    """What comes between the first step and sampling: warm-up, the size of a sample."""
    yield from _warm_up(worker, case, procedure, watch)
    return _steps(worker, procedure)


def profiled(worker: Worker, case: Case, folder: str, steps: int, watch: Watch) -> Pieces:
    """One case in one process: open, first steps, then `steps` under the framework's profiler.

    Their metric has a name of its own, for a profiler costs time: nobody shall compare them.
    """
    watch(Progress(case=case, phase="open"))
    opened = ask_one(worker, Open(case=case), Opened)
    yield opened
    yield open_time(opened)
    if opened.stepped:
        watch(Progress(case=case, phase="first"))
        yield samples(ask_one(worker, FIRST, Taken), "first")
        yield take(worker, "warmup", 1, BEFORE_PROFILE, CHUNK)
    watch(Progress(case=case, phase="steady"))
    for answer in worker.ask(Profile(folder=folder, steps=steps)):
        if isinstance(answer, Taken | Told):
            part = answer.samples if isinstance(answer, Told) else samples(answer, "steady")
            yield msgspec.structs.replace(part, metric=f"profiled_{part.metric}")


def evaluated(
    worker: Worker, case: Case, order: Evaluate, watch: Watch, train: Train | None = None
) -> Pieces:
    """One case in one process: open, train if asked to, then every example of a split."""
    watch(Progress(case=case, phase="open"))
    opened = ask_one(worker, Open(case=case), Opened)
    yield opened
    yield open_time(opened)
    if train:
        yield from _trained(worker, case, train, watch)
    watch(Progress(case=case, phase="steady"))
    for answer in worker.ask(order):
        if isinstance(answer, Told):
            yield answer.samples
        elif isinstance(answer, Checked):
            yield answer


def open_time(opened: Opened) -> Samples:
    return Samples(metric="open_time", unit="s", phase="open", values=(opened.seconds,))


def take(worker: Worker, phase: Phase, steps: int, count: int, seconds: float) -> Samples:
    """Samples of `steps` steps: at least one, until `count` or `seconds` is reached."""
    return samples(ask_one(worker, Take(steps=steps, count=count, seconds=seconds), Taken), phase)


def ask_one(worker: Worker, order: Order, kind: type[A]) -> A:
    """The first answer of this kind."""
    for answer in worker.ask(order):
        if isinstance(answer, kind):
            return answer
    raise TypeError(f"no {kind.__name__} came to {order}")


def _trained(worker: Worker, case: Case, order: Train, watch: Watch) -> Iterator[Samples | Checked]:
    """What every epoch tells; then the facts of the trained model."""
    recipe = order.training.recipe
    watch(Progress(case=case, phase="first", note="training …"))
    told: dict[str, float] = {}
    done = 0
    for answer in worker.ask(order):
        if isinstance(answer, Told):
            told[answer.samples.metric] = answer.samples.values[-1]
            if recipe and answer.samples.metric == "epoch_accuracy":  # the last an epoch tells
                done += 1
                note = f"epoch {done} of {recipe.epochs}  {human(told['epoch_time'], 's')}"
                note += f"  loss {told['loss']:.4f}  {told['epoch_accuracy']:.2f} % right"
                watch(Progress(case=case, phase="steady", samples=done, note=note))
            yield answer.samples
        elif isinstance(answer, Checked):
            yield answer


def told(worker: Worker) -> Iterator[Samples]:
    for answer in worker.ask(Tell()):
        if isinstance(answer, Told):
            yield answer.samples


def _warm_up(worker: Worker, case: Case, procedure: Procedure, watch: Watch) -> Iterator[Samples]:
    """Single steps, until two looks in a row find them steady or time is up."""
    taken: list[float] = []
    looks: list[bool] = []
    limit, spent, look = procedure.budget * WARMUP_SHARE, 0.0, next_look(0)
    while spent < limit and len(taken) < MOST:
        watch(Progress(case=case, phase="warmup", samples=len(taken), left=procedure.budget))
        part = take(worker, "warmup", 1, 1000, min(CHUNK, limit))
        taken += part.values
        spent += _seconds(part)
        yield part
        if len(taken) >= look:
            looks.append(find_steady(taken).verdict == "steady")
            look = next_look(len(taken))
        if confirmed(looks):
            return


def _steps(worker: Worker, procedure: Procedure) -> int:
    if procedure.latency:
        return 1
    return procedure.steps_per_sample or ask_one(worker, Calibrate(), Calibrated).steps


def _steady(
    worker: Worker,
    steps: int,
    case: Case,
    procedure: Procedure,
    watch: Watch,
    estimate: Estimator,
) -> Iterator[Samples]:
    """Samples, until two looks in a row find the interval within the target or time is up."""
    taken: list[float] = []
    looks: list[bool] = []
    spent, look = 0.0, next_look(0)
    found = Estimate(0.0, 0.0, 0.0, 0.0)
    while not _ended(procedure, len(taken), spent, looks):
        part = take(worker, "steady", steps, _room(procedure, len(taken)), CHUNK)
        taken += part.values
        spent += _seconds(part)
        if len(taken) >= look:
            found = estimate(taken)
            looks.append(narrow(found, procedure.target))
            look = next_look(len(taken))
        watch(
            Progress(
                case=case,
                phase="steady",
                samples=len(taken),
                estimate=found.value,
                half_width=found.half_width,
                left=max(0.0, procedure.budget - spent),
            )
        )
        yield part


def _ended(procedure: Procedure, count: int, spent: float, looks: list[bool]) -> bool:
    if procedure.samples:
        return count >= procedure.samples
    return confirmed(looks) or spent >= procedure.budget or count >= MOST


def _room(procedure: Procedure, count: int) -> int:
    """How many samples the next order may bring."""
    return min(procedure.samples - count if procedure.samples else 10_000, MOST)


def _seconds(part: Samples) -> float:
    """What the samples took; a clock that jumped back takes nothing off."""
    return sum(value for value in part.values if value > 0) * part.steps


def samples(taken: Taken, phase: Phase) -> Samples:
    return Samples(
        metric="step_time",
        unit="s",
        phase=phase,
        values=tuple(length / taken.steps for length in taken.seconds),
        starts=taken.starts,
        steps=taken.steps,
    )
