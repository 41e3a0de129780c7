"""When a worker is warm, when there are enough samples of it, and how long its turn lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from assay.core import messages
from assay.core.errors import EndingError
from assay.core.records import Phase, Procedure, Samples
from assay.stats.intervals import Estimate
from assay.stats.stopping import confirmed, narrow, next_look
from assay.stats.warmup import find_steady

A = TypeVar("A")

FIRST = messages.TakeSamples(steps=1, count=1, seconds=0.0)  # the first step: it compiles
CHUNK = 0.25  # seconds of samples between two requests, so that progress is seen
SLOW = 0.25  # seconds; a step as long as this hides its own wait (timing.LONGEST)
WARMUP_SHARE = 0.3  # of the budget, at most
MOST = 1_000_000  # samples of one phase, should a clock stand still
TURN = 0.1  # seconds a turn lasts, so that waking a worker costs little of it
TURN_SAMPLES = 1000  # at most, of one turn
TRACE = "profile"  # the folder of a trace, in the case's


class Worker(Protocol):
    """A case opened in a process, as the schedule sees it."""

    def ask(self, order: messages.Request) -> Iterator[object]:
        """The worker's answers to one request. Raises EndingError when there can be none."""


class PausableWorker(Worker, Protocol):
    def stand_still(self) -> None: ...

    def wake(self) -> None: ...


class WarmUp(NamedTuple):
    """`steps` make a sample; `timed` is what warm-up timed in the same way."""

    steps: int = 0
    timed: tuple[float, ...] = ()


Add = Callable[[Samples], None]
ShowProgress = Callable[..., None]  # of a phase, and fields of a Progress
Estimator = Callable[[list[float], tuple[float, ...]], Estimate]  # of samples, and of warm-up


def warm_up(worker: Worker, procedure: Procedure, add: Add, show: ShowProgress) -> WarmUp:
    """What comes between the first step and sampling: single steps, until two looks in a row find
    them steady or time is up; then the size of a sample.

    Of SLOW steps one is warm-up enough, and a sample, and nothing is calibrated.
    """
    timed: list[float] = []
    looks: list[bool] = []
    limit, spent, look = procedure.budget * WARMUP_SHARE, 0.0, next_look(0)
    while spent < limit and len(timed) < MOST:
        show("warmup", samples=len(timed), left=procedure.budget)
        part = take(worker, "warmup", 1, 1000, min(CHUNK, limit))
        timed += part.values
        spent += _seconds(part)
        add(part)
        if min(timed) >= SLOW:
            return _warm(procedure.steps_per_sample or 1, timed)
        if len(timed) >= look:
            looks.append(find_steady(timed).verdict == "steady")
            look = next_look(len(timed))
        if confirmed(looks):
            break
    return _warm(_steps_per_sample(worker, procedure), timed)


def _warm(steps: int, timed: list[float]) -> WarmUp:
    return WarmUp(steps, tuple(timed) if steps == 1 else ())


def _steps_per_sample(worker: Worker, procedure: Procedure) -> int:
    if procedure.latency:
        return 1
    return (
        procedure.steps_per_sample
        or ask_one(worker, messages.Calibrate(), messages.Calibrated).steps
    )


def sample(
    worker: Worker,
    warm: WarmUp,
    procedure: Procedure,
    estimate: Estimator,
    add: Add,
    show: ShowProgress,
) -> None:
    """Samples, until two looks in a row find the interval within the target or time is up."""
    timed: list[float] = []
    looks: list[bool] = []
    spent, look = 0.0, next_look(0)
    current = Estimate(0.0, 0.0, 0.0, 0.0)
    while not _is_enough(procedure, len(timed), spent, looks):
        part = take(worker, "steady", warm.steps, _samples_left(procedure, len(timed)), CHUNK)
        timed += part.values
        spent += _seconds(part)
        if len(timed) >= look:
            current = estimate(timed, warm.timed)
            looks.append(narrow(current, procedure.target))
            look = next_look(len(timed))
        show(
            "steady",
            samples=len(timed),
            estimate=current.value,
            half_width=current.half_width,
            left=max(0.0, procedure.budget - spent),
        )
        add(part)


def _is_enough(procedure: Procedure, count: int, spent: float, looks: list[bool]) -> bool:
    if procedure.samples:
        return count >= procedure.samples
    return confirmed(looks) or spent >= procedure.budget or count >= MOST


def _samples_left(procedure: Procedure, count: int) -> int:
    """How many samples the next request may bring."""
    return min(procedure.samples - count if procedure.samples else 10_000, MOST)


def _seconds(part: Samples) -> float:
    """What the samples took; a clock that jumped back takes nothing off."""
    return sum(value for value in part.values if value > 0) * part.steps


def take_turn(worker: PausableWorker, steps: int, seconds: float = TURN) -> Samples:
    """Samples for so many seconds, at least one, after a step that is not recorded.

    Caches, clocks and sleeping threads have to come back first.
    """
    worker.wake()
    try:
        take(worker, "steady", 1, 1, 0.0)
        return take(worker, "steady", steps, TURN_SAMPLES, seconds)
    finally:
        worker.stand_still()


def take_tokens(worker: PausableWorker, seconds: float = TURN) -> dict[str, Samples]:
    """A turn of requests, at least one, by what was timed of their tokens."""
    worker.wake()
    try:
        order = messages.TimeTokens(seconds=seconds, warm_up=1, least=1)
        return {part.metric: part for part in pieces(worker, order) if isinstance(part, Samples)}
    finally:
        worker.stand_still()


def take(worker: Worker, phase: Phase, steps: int, count: int, seconds: float) -> Samples:
    """Samples of `steps` steps: at least one, until `count` or `seconds` is reached."""
    order = messages.TakeSamples(steps=steps, count=count, seconds=seconds)
    return samples(ask_one(worker, order, messages.TimedSteps), phase)


def samples(timed: messages.TimedSteps, phase: Phase) -> Samples:
    return Samples(
        metric="step_time",
        unit="s",
        phase=phase,
        values=tuple(length / timed.steps for length in timed.seconds),
        starts=timed.starts,
        steps=timed.steps,
    )


def pieces(
    worker: Worker, order: messages.Request, phase: Phase = "steady"
) -> Iterator[Samples | messages.LateFacts]:
    """What a worker reports, or what is timed of its steps, as it comes."""
    for answer in worker.ask(order):
        if isinstance(answer, messages.Reported):
            yield answer.samples
        elif isinstance(answer, messages.TimedSteps):
            yield samples(answer, phase)
        elif isinstance(answer, messages.LateFacts):
            yield answer


def ask_one(worker: Worker, order: messages.Request, kind: type[A]) -> A:
    """The first answer, which has to be of this kind."""
    return first_of(worker.ask(order), kind)


def first_of(answers: Iterator[object], kind: type[A]) -> A:
    for answer in answers:
        if isinstance(answer, kind):
            return answer
        other = type(answer).__name__
        raise EndingError("crashed", f"the worker answered {other} where {kind.__name__} was due")
    raise EndingError("crashed", f"the worker ended its answer without {kind.__name__}")
