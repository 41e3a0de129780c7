"""Warm up a worker, sample it until the estimate is good enough, and take turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeVar

from assay.core import messages
from assay.core.errors import EndingError
from assay.core.records import Phase, Procedure, Samples
from assay.stats.intervals import Estimate
from assay.stats.stopping import is_confirmed, is_narrow, next_look
from assay.stats.warmup import find_steady

A = TypeVar("A")

FIRST = messages.TakeSamples(steps=1, count=1, seconds=0.0)  # the first step: it compiles
CHUNK = 0.25  # seconds of samples per request, so that progress is shown
SLOW_STEP = 0.25  # seconds; for longer steps the cost of waiting does not matter (timing.LONGEST)
WARMUP_SHARE = 0.3  # of the budget, at most
MAX_SAMPLES = 1_000_000  # samples of one phase, in case a clock stands still
TURN = 0.1  # seconds of a turn, long enough to make unpausing a worker negligible
TURN_SAMPLES = 1000  # of one turn, at most
TRACE = "profile"  # the folder of a trace, in the case's


class Worker(Protocol):
    def ask(self, request: messages.Request) -> Iterator[object]:
        """The worker's answers to one request. Raises EndingError if it cannot answer."""


class PausableWorker(Worker, Protocol):
    def pause(self) -> None: ...

    def unpause(self) -> None: ...


class WarmUp(NamedTuple):
    """`steps` per sample; `timed`: step times of warm-up if it timed in the same way."""

    steps: int = 0
    timed: tuple[float, ...] = ()


AddSamples = Callable[[Samples], None]
ShowProgress = Callable[..., None]  # of a phase, and fields of a Progress
Estimator = Callable[[list[float], tuple[float, ...]], Estimate]  # of samples, and of warm-up


def warm_up(worker: Worker, procedure: Procedure, add: AddSamples, show: ShowProgress) -> WarmUp:
    """Run single steps until two checks in a row find them steady or time is up; then calibrate
    the steps per sample.

    Of SLOW steps, one is enough to warm up and is a sample, without calibration.
    """
    timed: list[float] = []
    looks: list[bool] = []
    limit, spent, look = procedure.budget * WARMUP_SHARE, 0.0, next_look(0)
    while spent < limit and len(timed) < MAX_SAMPLES:
        show("warmup", samples=len(timed), left=procedure.budget)
        part = take_samples(worker, "warmup", 1, 1000, min(CHUNK, limit))
        timed += part.values
        spent += _seconds(part)
        add(part)
        if min(timed) >= SLOW_STEP:
            return _make_warm_up(procedure.steps_per_sample or 1, timed)
        if len(timed) >= look:
            looks.append(find_steady(timed).verdict == "steady")
            look = next_look(len(timed))
        if is_confirmed(looks):
            break
    return _make_warm_up(_steps_per_sample(worker, procedure), timed)


def _make_warm_up(steps: int, timed: list[float]) -> WarmUp:
    return WarmUp(steps, tuple(timed) if steps == 1 else ())


def _steps_per_sample(worker: Worker, procedure: Procedure) -> int:
    if procedure.latency:
        return 1
    return (
        procedure.steps_per_sample
        or ask_for(worker, messages.Calibrate(), messages.Calibrated).steps
    )


def sample(
    worker: Worker,
    warm: WarmUp,
    procedure: Procedure,
    estimate: Estimator,
    add: AddSamples,
    show: ShowProgress,
) -> None:
    """Sample until two checks in a row find the interval within the target or time is up."""
    timed: list[float] = []
    looks: list[bool] = []
    spent, look = 0.0, next_look(0)
    current = Estimate(0.0, 0.0, 0.0, 0.0)
    while not _is_enough(procedure, len(timed), spent, looks):
        part = take_samples(
            worker, "steady", warm.steps, _samples_left(procedure, len(timed)), CHUNK
        )
        timed += part.values
        spent += _seconds(part)
        if len(timed) >= look:
            current = estimate(timed, warm.timed)
            looks.append(is_narrow(current, procedure.target))
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
    return is_confirmed(looks) or spent >= procedure.budget or count >= MAX_SAMPLES


def _samples_left(procedure: Procedure, count: int) -> int:
    """How many samples the next request may bring."""
    return min(procedure.samples - count if procedure.samples else 10_000, MAX_SAMPLES)


def _seconds(part: Samples) -> float:
    """Total time, without samples during which the clock jumped back."""
    return sum(value for value in part.values if value > 0) * part.steps


def take_turn(worker: PausableWorker, steps: int, seconds: float = TURN) -> Samples:
    """Samples for so many seconds, at least one, after one unrecorded step, which restores caches,
    clock frequencies and sleeping threads."""
    worker.unpause()
    try:
        take_samples(worker, "steady", 1, 1, 0.0)
        return take_samples(worker, "steady", steps, TURN_SAMPLES, seconds)
    finally:
        worker.pause()


def take_tokens(worker: PausableWorker, seconds: float = TURN) -> dict[str, Samples]:
    """Token times by metric, of a turn of at least one generated text."""
    worker.unpause()
    try:
        request = messages.TimeTokens(seconds=seconds, warm_up=1, least=1)
        return {
            part.metric: part for part in read_samples(worker, request) if isinstance(part, Samples)
        }
    finally:
        worker.pause()


def take_samples(worker: Worker, phase: Phase, steps: int, count: int, seconds: float) -> Samples:
    """Samples of `steps` steps: at least one, until `count` or `seconds` is reached."""
    request = messages.TakeSamples(steps=steps, count=count, seconds=seconds)
    return samples_from(ask_for(worker, request, messages.TimedSteps), phase)


def samples_from(timed: messages.TimedSteps, phase: Phase) -> Samples:
    return Samples(
        metric="step_time",
        unit="s",
        phase=phase,
        values=tuple(length / timed.steps for length in timed.seconds),
        starts=timed.starts,
        steps=timed.steps,
    )


def read_samples(
    worker: Worker, request: messages.Request, phase: Phase = "steady"
) -> Iterator[Samples | messages.LateFacts]:
    """Yield what a worker reports, and times of its steps, as they come."""
    for answer in worker.ask(request):
        if isinstance(answer, messages.Reported):
            yield answer.samples
        elif isinstance(answer, messages.TimedSteps):
            yield samples_from(answer, phase)
        elif isinstance(answer, messages.LateFacts):
            yield answer


def ask_for(worker: Worker, request: messages.Request, kind: type[A]) -> A:
    return read_until(worker.ask(request), kind)


def read_until(answers: Iterator[object], kind: type[A]) -> A:
    for answer in answers:
        if isinstance(answer, kind):
            return answer
        other = type(answer).__name__
        raise EndingError("crashed", f"the worker answered {other} where {kind.__name__} was due")
    raise EndingError("crashed", f"the worker ended its answer without {kind.__name__}")
