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

TRIALS = 10  # of a wait that seems not to have waited
WAITED = 0.1  # share of the steps' time left after a wait, up to which it counts as one
LONG_READ = 4  # reads that steps and one read have to last
MOST_UNREAD = 1 << 14  # steps
LONGEST = 0.25  # seconds a sample may be made to last, so that there are enough of them
GROUP = 4  # steps whose one wait is compared with a wait after each
FEWEST_REFILLS, MOST_REFILLS = 6, 40  # comparisons, as time allows
CHANCE = 0.001  # that noise alone is taken for the cost of a wait


def time_steps(session: Stepped, steps: int, clock: Clock = clock) -> tuple[float, float]:
    """`steps` enqueued, then one wait: when it began, and the device's time for all of them."""
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
    """So many steps that the cost of timing is a thousandth of a sample, or that it lasts LONGEST.

    One, wherever that does: the median of single steps and the median of means of several are
    different numbers, so which one it is must not be drawn by lot. Nor is it for a `queued` device,
    which stands idle after every wait until the host has enqueued again: there it lasts LONGEST.
    """
    first = time_steps(session, 1, clock)[1]
    if first >= (LONGEST if queued else LONGEST / GROUP):
        return 1  # a few more would gain little, and to find out would take many
    goal, seconds = (LONGEST, first) if queued else _goal(session, clock)
    steps = max(1, round(goal / seconds))
    # a step that is shorter than the timer's cost seemed longer than it is
    while steps > 1 and (seconds := time_steps(session, steps, clock)[1]) < goal / 2:
        steps = max(steps + 1, math.ceil(steps * goal / max(seconds, 1e-9)))
    return steps


def unwaited(session: Stepped, read: Callable[[], object], clock: Clock = clock) -> float:
    """The share of its steps' time that a device still works after `wait`; about 0 if it waited.

    `read` brings results to the host, and so cannot end before all that was enqueued has. After a
    true wait it takes as long as the read that follows it, on a device that is idle for certain.
    A busy machine makes either longer by chance: the least of some trials counts, and the first
    that shows nothing ends them.
    """
    read()
    steps, shares = 1, [1.0]
    while len(shares) <= TRIALS and min(shares) > WAITED:
        waited = time_steps(session, steps, clock)[1]
        after, idle = (_timed(read, clock) for _ in range(2))
        if waited + after < LONG_READ * idle and steps < MOST_UNREAD:
            steps *= 2  # a read that is longer than the steps would hide what they left
        else:
            shares.append(max(0.0, after - idle) / max(waited + after, 1e-9))
    return min(shares)


def _timed(call: Callable[[], object], clock: Clock) -> float:
    start = clock()
    call()
    return clock() - start


def _goal(session: Stepped, clock: Clock) -> tuple[float, float]:
    """How long a sample is to be, and one step."""
    cost, seconds = _cost(session, clock)
    return min(1000 * cost, LONGEST), seconds


def _cost(session: Stepped, clock: Clock) -> tuple[float, float]:
    """What a sample costs beyond its steps (timer, wait, the queue left empty), and one step.

    A device that is waited for stands idle until the host has enqueued again: GROUP samples of one
    step take longer than one of GROUP. They take turns, in an order that changes each time, so that
    a drift cancels out; and the cost counts only if it is there beyond chance, or what is noise
    would decide how many steps make a sample.
    """
    empty = min(time_steps(session, 0, clock)[1] for _ in range(20))
    refills: list[float] = []
    together: list[float] = []
    end = clock() + 2 * LONGEST
    while len(refills) < FEWEST_REFILLS or (len(refills) < MOST_REFILLS and clock() < end):
        _compare(session, clock, refills, together)
    whole = max(median(together), 1e-9)
    step = max(whole - empty, whole / 10) / GROUP  # of very short ones the timer is the most
    return (max(empty, median(refills)) if _beyond_chance(refills) else empty), step


def _compare(session: Stepped, clock: Clock, refills: list[float], together: list[float]) -> None:
    """Once more: what a refill takes, and GROUP steps with one wait."""
    for group in (1, GROUP) if len(refills) % 2 else (GROUP, 1):
        seconds = sum(time_steps(session, group, clock)[1] for _ in range(GROUP // group))
        if group > 1:
            together.append(seconds)
        else:
            apart = seconds
    refills.append((apart - together[-1]) / (GROUP - 1))


def _beyond_chance(differences: list[float]) -> bool:
    """Whether their mean is above nothing, by Student's one-sided test at CHANCE; or, as one hiccup
    among few hides a cost from it, their mean without the extremes, by Yuen's (1974).

    Seen on an H200: every step was waited for, which costs 4 %, after one of six comparisons was
    disturbed.
    """
    ordered, count = sorted(differences), len(differences)
    cut = count // FEWEST_REFILLS
    kept = ordered[cut:-cut]
    winsorized = [*kept[:1] * cut, *kept, *kept[-1:] * cut]
    error = stdev(winsorized) * math.sqrt((count - 1) / (len(kept) * (len(kept) - 1)))
    return _above(fmean(kept), error, len(kept)) or _above(
        fmean(differences), stdev(differences) / math.sqrt(count), count
    )


def _above(mean: float, error: float, count: int) -> bool:
    return mean > two_sided(2 * CHANCE, count - 1) * error


MOST = 1000  # requests


class TextSession(Generating, Stepped, Protocol):
    """A session that makes text."""


def timed(
    session: TextSession, order: messages.TimeTokens, clock: Clock = clock
) -> Iterator[Samples]:
    """Of requests one after the other, each begun when the one before it has ended.

    Where the host sees every token, each has a time of its own, from the one before it. Where one
    compiled loop makes them all, a request has one: that of the whole less that of its first
    token, shared by those after it.
    """
    for _ in range(order.warm_up):
        _request(session, clock)
    first: list[float] = []
    following: list[float] = []
    end = clock() + order.seconds
    while len(first) < order.least or (clock() < end and len(first) < MOST):
        begun, rest = _request(session, clock)
        first.append(begun)
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
