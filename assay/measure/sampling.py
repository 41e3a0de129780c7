"""Which worker steps next, and when there are enough samples."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from assay.core import messages
from assay.core.errors import EndingError
from assay.core.messages import TimeTokens
from assay.core.progress import Progress, ProgressCallback
from assay.core.records import Case, Phase, Procedure, Samples
from assay.core.units import human
from assay.stats.intervals import Estimate
from assay.stats.stopping import confirmed, narrow, next_look
from assay.stats.warmup import find_steady

A = TypeVar("A")

FIRST = messages.TakeSamples(steps=1, count=1, seconds=0.0)  # the first step: it compiles
CHUNK = 0.25  # seconds of samples between two orders, so that progress is seen
SLOW = 0.25  # seconds; a step as long as this hides its own wait (timing.LONGEST)
TOKENS = 0.5  # of the budget, once more, for the tokens of what makes text
WARMUP_SHARE = 0.3  # of the budget, at most
BEFORE_PROFILE = 5  # steps at most, so that what is profiled is no first step
MOST = 1_000_000  # samples of one phase, should a clock stand still
TURN = 0.1  # seconds a turn lasts, so that waking a worker costs little of it
TURN_SAMPLES = 1000  # at most, of one turn


class Warm(NamedTuple):
    """A worker that may be sampled: `steps` make a sample, and what warm-up timed likewise."""

    steps: int
    timed: list[float]
    generates: bool = False  # it makes text, whose tokens can be timed


class Worker(Protocol):
    """A case opened in a process, as the schedule sees it."""

    def ask(self, order: messages.Request) -> Iterator[object]:
        """The worker's answers to one order. Raises EndingError when there can be none."""


Estimator = Callable[[list[float], list[float]], Estimate]  # of samples, and of what was before
Piece = messages.Opened | Samples | messages.LateFacts
Pieces = Iterator[Piece]  # what becomes of a case, as it comes


def alone(
    worker: Worker,
    case: Case,
    procedure: Procedure,
    progress: ProgressCallback,
    estimate: Estimator,
    checks: bool = True,
) -> Pieces:
    """One case in one process: made warm, then samples until there are enough; without `checks`
    where a process before it has shown its work, its outputs and its wait."""
    warm = yield from warmed(worker, case, procedure, progress, checks)
    if warm.steps:
        yield from _steady(
            worker, warm.steps, case, procedure, progress, lambda timed: estimate(timed, warm.timed)
        )
        if checks:
            yield ask_one(worker, messages.CheckWait(), messages.LateFacts)
        if warm.generates:
            yield from reports(worker, messages.TimeTokens(seconds=TOKENS * procedure.budget))
    else:
        yield from reports(worker)


def warmed(
    worker: Worker, case: Case, procedure: Procedure, progress: ProgressCallback, checks: bool
) -> Generator[messages.Opened | Samples, None, Warm]:
    """Open, first step, warm-up; at the end how many steps make a sample, 0 if it times itself."""
    progress(Progress(case=case, phase="open", left=procedure.budget))
    order = messages.Open(case=case, outputs=checks, counts=checks)
    opened = ask_one(worker, order, messages.Opened)
    yield opened
    yield open_time(opened)
    if not opened.stepped:
        return Warm(0, [])
    progress(Progress(case=case, phase="first", left=procedure.budget))
    yield samples(ask_one(worker, FIRST, messages.TimedSteps), "first")
    warm = yield from settled(worker, case, procedure, progress)
    return warm._replace(generates=opened.generates)


def settled(
    worker: Worker, case: Case, procedure: Procedure, progress: ProgressCallback
) -> Generator[Samples, None, Warm]:
    """What comes between the first step and sampling: warm-up, the size of a sample."""
    slow, timed = yield from _warm_up(worker, case, procedure, progress)
    steps = procedure.steps_per_sample or 1 if slow else _steps(worker, procedure)
    return Warm(steps, timed if steps == 1 else [])


def profiled(
    worker: Worker, case: Case, folder: str, steps: int, progress: ProgressCallback
) -> Pieces:
    """One case in one process: open, first steps, then `steps` under the framework's profiler.

    Their metric has a name of its own, for a profiler costs time: nobody shall compare them.
    """
    progress(Progress(case=case, phase="open"))
    opened = ask_one(worker, messages.Open(case=case), messages.Opened)
    yield opened
    yield open_time(opened)
    if opened.stepped:
        progress(Progress(case=case, phase="first"))
        yield samples(ask_one(worker, FIRST, messages.TimedSteps), "first")
        yield take(worker, "warmup", 1, BEFORE_PROFILE, CHUNK)
    progress(Progress(case=case, phase="steady"))
    for answer in worker.ask(messages.ProfileSteps(folder=folder, steps=steps)):
        if isinstance(answer, messages.TimedSteps | messages.Reported):
            part = (
                answer.samples
                if isinstance(answer, messages.Reported)
                else samples(answer, "steady")
            )
            yield msgspec.structs.replace(part, metric=f"profiled_{part.metric}")


def evaluated(
    worker: Worker,
    case: Case,
    order: messages.Evaluate,
    progress: ProgressCallback,
    train: messages.Train | None = None,
) -> Pieces:
    """One case in one process: open, train if asked to, then every example of a split."""
    progress(Progress(case=case, phase="open"))
    opened = ask_one(worker, messages.Open(case=case), messages.Opened)
    yield opened
    yield open_time(opened)
    if train:
        yield from _trained(worker, case, train, progress)
    progress(Progress(case=case, phase="steady"))
    for answer in worker.ask(order):
        if isinstance(answer, messages.Reported):
            yield answer.samples
        elif isinstance(answer, messages.LateFacts):
            yield answer


def open_time(opened: messages.Opened) -> Samples:
    return Samples(metric="open_time", unit="s", phase="open", values=(opened.seconds,))


def take(worker: Worker, phase: Phase, steps: int, count: int, seconds: float) -> Samples:
    """Samples of `steps` steps: at least one, until `count` or `seconds` is reached."""
    return samples(
        ask_one(
            worker,
            messages.TakeSamples(steps=steps, count=count, seconds=seconds),
            messages.TimedSteps,
        ),
        phase,
    )


def ask_one(worker: Worker, order: messages.Request, kind: type[A]) -> A:
    """The first answer of this kind."""
    return first_of(worker.ask(order), kind)


def first_of(answers: Iterator[object], kind: type[A]) -> A:
    for answer in answers:
        if isinstance(answer, kind):
            return answer
        other = type(answer).__name__
        raise EndingError("crashed", f"the worker answered {other} where {kind.__name__} was due")
    raise EndingError("crashed", f"the worker ended its answer without {kind.__name__}")


def _trained(
    worker: Worker, case: Case, order: messages.Train, progress: ProgressCallback
) -> Iterator[Samples | messages.LateFacts]:
    """What every epoch tells; then the facts of the trained model."""
    recipe = order.training.recipe
    progress(Progress(case=case, phase="first", note="training …"))
    reports: dict[str, float] = {}
    done = 0
    for answer in worker.ask(order):
        if isinstance(answer, messages.Reported):
            reports[answer.samples.metric] = answer.samples.values[-1]
            if recipe and answer.samples.metric == "epoch_accuracy":  # the last an epoch tells
                done += 1
                note = f"epoch {done} of {recipe.epochs}  {human(reports['epoch_time'], 's')}"
                note += f"  loss {reports['loss']:.4f}  {reports['epoch_accuracy']:.2f} % right"
                progress(Progress(case=case, phase="steady", samples=done, note=note))
            yield answer.samples
        elif isinstance(answer, messages.LateFacts):
            yield answer


def reports(worker: Worker, order: messages.Request | None = None) -> Iterator[Samples]:
    """What it tells of itself when run, or when asked for something it times by itself."""
    for answer in worker.ask(order or messages.RunSelfTimed()):
        if isinstance(answer, messages.Reported):
            yield answer.samples


def _warm_up(
    worker: Worker, case: Case, procedure: Procedure, progress: ProgressCallback
) -> Generator[Samples, None, tuple[bool, list[float]]]:
    """Single steps, until two looks in a row find them steady or time is up.

    At the end all of them, and whether a step is SLOW: one is then warm-up enough, and a sample,
    and nothing is calibrated.
    """
    timed: list[float] = []
    looks: list[bool] = []
    limit, spent, look = procedure.budget * WARMUP_SHARE, 0.0, next_look(0)
    while spent < limit and len(timed) < MOST:
        progress(Progress(case=case, phase="warmup", samples=len(timed), left=procedure.budget))
        part = take(worker, "warmup", 1, 1000, min(CHUNK, limit))
        timed += part.values
        spent += _seconds(part)
        yield part
        if min(timed) >= SLOW:
            return True, timed
        if len(timed) >= look:
            looks.append(find_steady(timed).verdict == "steady")
            look = next_look(len(timed))
        if confirmed(looks):
            break
    return False, timed


def _steps(worker: Worker, procedure: Procedure) -> int:
    if procedure.latency:
        return 1
    return (
        procedure.steps_per_sample
        or ask_one(worker, messages.Calibrate(), messages.Calibrated).steps
    )


def _steady(
    worker: Worker,
    steps: int,
    case: Case,
    procedure: Procedure,
    progress: ProgressCallback,
    estimate: Callable[[list[float]], Estimate],
) -> Iterator[Samples]:
    """Samples, until two looks in a row find the interval within the target or time is up."""
    timed: list[float] = []
    looks: list[bool] = []
    spent, look = 0.0, next_look(0)
    found = Estimate(0.0, 0.0, 0.0, 0.0)
    while not _ended(procedure, len(timed), spent, looks):
        part = take(worker, "steady", steps, _room(procedure, len(timed)), CHUNK)
        timed += part.values
        spent += _seconds(part)
        if len(timed) >= look:
            found = estimate(timed)
            looks.append(narrow(found, procedure.target))
            look = next_look(len(timed))
        progress(
            Progress(
                case=case,
                phase="steady",
                samples=len(timed),
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


def samples(timed: messages.TimedSteps, phase: Phase) -> Samples:
    return Samples(
        metric="step_time",
        unit="s",
        phase=phase,
        values=tuple(length / timed.steps for length in timed.seconds),
        starts=timed.starts,
        steps=timed.steps,
    )


TRACE = "profile"  # the folder of a trace, in the case's


# What is asked of the worker of a case instead of measuring it.
Conduct = Callable[[Worker], Pieces]


class Sleeper(Worker, Protocol):
    """A worker that can be made to stand still."""

    def stand_still(self) -> None: ...

    def wake(self) -> None: ...


def take_turn(worker: Sleeper, steps: int, seconds: float = TURN) -> Samples:
    """Samples for so many seconds, at least one, after a step that is not recorded.

    Caches, clocks and sleeping threads have to come back first.
    """
    worker.wake()
    try:
        take(worker, "steady", 1, 1, 0.0)
        return take(worker, "steady", steps, TURN_SAMPLES, seconds)
    finally:
        worker.stand_still()


def take_tokens(worker: Sleeper, seconds: float = TURN) -> dict[str, Samples]:
    """A turn of requests, at least one, by what was timed of their tokens."""
    worker.wake()
    try:
        order = TimeTokens(seconds=seconds, warm_up=1, least=1)
        return {part.metric: part for part in reports(worker, order)}
    finally:
        worker.stand_still()
