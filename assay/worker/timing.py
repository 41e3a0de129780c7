"""Timing of steps. It knows a stepped session and a clock, and nothing of models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from statistics import fmean, median, stdev
from typing import Protocol

from assay.core import messages
from assay.core.clock import Clock, clock
from assay.core.records import Samples
from assay.core.sessions import FIRST_TOKEN, NEXT_TOKEN, Generating, Stepped
from assay.stats.student import two_sided

TRIALS = 10  # of a wait that seems not to synchronize
SYNCHRONIZED_SHARE = 0.1  # maximum share of the steps' time left after a wait that synchronizes
LONG_READ = 4  # minimum duration of steps and a read, in reads
MAX_UNREAD = 1 << 14  # steps
LONGEST = 0.25  # maximum seconds of a sample that is made longer, so that there are enough samples
GROUP = 4  # steps whose one wait is compared with a wait after each
MIN_REFILLS, MAX_REFILLS = 6, 40  # comparisons, as time allows
CLOCK_STEPS, MAX_READS = 5, 1_000_000  # of the clock, to see its resolution
COARSE = 1e-6  # seconds; the resolution of a finer clock does not matter
SIGNIFICANCE = 0.001  # significance level of the cost of a wait


def time_steps(session: Stepped, steps: int, clock: Clock = clock) -> tuple[float, float]:
    """Enqueue `steps`, then wait once: the start, and the device's time for all of them."""
    start = clock()
    for _ in range(steps):
        session.step()
    session.wait()
    return start, clock() - start


def take(
    session: Stepped, steps: int, count: int, seconds: float, clock: Clock = clock
) -> list[tuple[float, float]]:
    """Samples, at least one, until there are `count` or `seconds` have passed."""
    samples = [time_steps(session, steps, clock)]
    end = samples[0][0] + seconds
    while len(samples) < count and clock() < end:
        samples.append(time_steps(session, steps, clock))
    return samples


def steps_per_sample(session: Stepped, clock: Clock = clock, *, queued: bool = False) -> int:
    """The steps for which timing costs a thousandth of a sample, or for which it lasts LONGEST.

    1 wherever that is enough: the median of single steps and the median of means of several
    differ, so the choice must not depend on noise. A `queued` device is idle after every wait until
    the host has enqueued again, so its samples always last LONGEST.
    """
    first = time_steps(session, 1, clock)[1]
    if first >= (LONGEST if queued else LONGEST / GROUP):
        return 1  # more would gain little, and calibration would take many steps
    goal, seconds = (LONGEST, first) if queued else _target_duration(session, clock)
    steps = max(1, round(goal / seconds))
    # a step that is shorter than the timer's cost was measured too long
    while steps > 1 and (seconds := time_steps(session, steps, clock)[1]) < goal / 2:
        steps = max(steps + 1, math.ceil(steps * goal / max(seconds, 1e-9)))
    return steps


def clock_step(clock: Clock = clock) -> float:
    """The smallest step of the clock; inf of a clock that stands still."""
    smallest, steps, before = math.inf, 0, clock()
    for _ in range(MAX_READS):
        now = clock()
        if now > before:
            smallest, steps = min(smallest, now - before), steps + 1
        before = now
        if steps == CLOCK_STEPS:
            break
    return smallest


def unsynchronized_share(
    session: Stepped, read: Callable[[], object], clock: Clock = clock
) -> float:
    """The share of its steps' time that a device still works after `wait`; about 0 if `wait`
    synchronizes.

    `read` copies results to the host, so it cannot end before all enqueued work. After a real
    wait it takes as long as the read that follows it, on an idle device. A busy machine makes
    either longer, so the minimum of some trials counts, and a share of about 0 ends them.
    """
    read()
    steps, shares = 1, [1.0]
    while len(shares) <= TRIALS and min(shares) > SYNCHRONIZED_SHARE:
        waited = time_steps(session, steps, clock)[1]
        after, idle = (_duration(read, clock) for _ in range(2))
        if waited + after < LONG_READ * idle and steps < MAX_UNREAD:
            steps *= 2  # a read that is longer than the steps would hide remaining work
        else:
            shares.append(max(0.0, after - idle) / max(waited + after, 1e-9))
    return min(shares)


def _duration(call: Callable[[], object], clock: Clock) -> float:
    start = clock()
    call()
    return clock() - start


def _target_duration(session: Stepped, clock: Clock) -> tuple[float, float]:
    """Seconds of a sample, and of one step."""
    cost, seconds = _cost(session, clock)
    return min(1000 * cost, LONGEST), seconds


def _cost(session: Stepped, clock: Clock) -> tuple[float, float]:
    """The overhead of a sample (timer, wait, the queue left empty), and the time of one step.

    After a wait a device is idle until the host has enqueued again: GROUP samples of one step take
    longer than one of GROUP. They alternate in changing order, so that a drift cancels out; the
    cost only counts if it is significant, otherwise noise would pick the sample size.
    """
    empty = min(time_steps(session, 0, clock)[1] for _ in range(20))
    refills: list[float] = []
    together: list[float] = []
    end = clock() + 2 * LONGEST
    while len(refills) < MIN_REFILLS or (len(refills) < MAX_REFILLS and clock() < end):
        _compare(session, clock, refills, together)
    group_seconds = max(median(together), 1e-9)
    # of very short steps the timer takes most of the time
    step = max(group_seconds - empty, group_seconds / 10) / GROUP
    return (max(empty, median(refills)) if _beyond_chance(refills) else empty), step


def _compare(session: Stepped, clock: Clock, refills: list[float], together: list[float]) -> None:
    """Add the cost of a refill, and the time of GROUP steps with one wait."""
    for group in (1, GROUP) if len(refills) % 2 else (GROUP, 1):
        seconds = sum(time_steps(session, group, clock)[1] for _ in range(GROUP // group))
        if group > 1:
            together.append(seconds)
        else:
            separate = seconds
    refills.append((separate - together[-1]) / (GROUP - 1))


def _beyond_chance(differences: list[float]) -> bool:
    """Whether their mean is above 0, by Student's one-sided test at CHANCE or, as an outlier among
    few can hide a cost, by Yuen's test of the trimmed mean (1974).

    Seen on an H200: one outlier in six comparisons led to a wait after every step, which costs 4 %.
    """
    ordered, count = sorted(differences), len(differences)
    cut = count // MIN_REFILLS
    trimmed = ordered[cut:-cut]
    winsorized = [*trimmed[:1] * cut, *trimmed, *trimmed[-1:] * cut]
    error = stdev(winsorized) * math.sqrt((count - 1) / (len(trimmed) * (len(trimmed) - 1)))
    return _is_significant(fmean(trimmed), error, len(trimmed)) or _is_significant(
        fmean(differences), stdev(differences) / math.sqrt(count), count
    )


def _is_significant(mean: float, error: float, count: int) -> bool:
    return mean > two_sided(2 * SIGNIFICANCE, count - 1) * error


MAX_REQUESTS = 1000  # requests


class TextSession(Generating, Stepped, Protocol):
    """A session that generates text."""


def time_tokens(
    session: TextSession, request: messages.TimeTokens, clock: Clock = clock
) -> Iterator[Samples]:
    """Token times of requests one after the other.

    If the host sees every token, each has its own time. If one compiled loop generates all, a
    request has one time: the total less that of the first token, divided by the others.
    """
    for _ in range(request.warm_up):
        _request(session, clock)
    first: list[float] = []
    following: list[float] = []
    end = clock() + request.seconds
    while len(first) < request.least or (clock() < end and len(first) < MAX_REQUESTS):
        seconds, rest = _request(session, clock)
        first.append(seconds)
        following += rest
    yield Samples(metric=FIRST_TOKEN, unit="s", phase="steady", values=tuple(first))
    if following:
        yield Samples(metric=NEXT_TOKEN, unit="s", phase="steady", values=tuple(following))


def _request(session: TextSession, clock: Clock) -> tuple[float, list[float]]:
    """The time of the first token, and of those after it."""
    start = clock()
    session.first_token()
    seen = clock()
    first, others = seen - start, session.tokens - 1
    if session.sees_tokens:
        return first, [_next(session, clock) for _ in range(others)]
    whole = time_steps(session, 1, clock)[1]
    return first, [(whole - first) / others] if others else []


def _next(session: TextSession, clock: Clock) -> float:
    start = clock()
    session.next_token()
    return clock() - start
