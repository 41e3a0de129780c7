"""Timing of steps. It knows a stepped session and a clock, and nothing of models."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from assay.contracts import Stepped

Clock = Callable[[], float]
clock: Clock = time.perf_counter

LONGEST = 0.25  # seconds a sample may be made to last, so that there are enough of them


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
    taken = [time_steps(session, steps, clock)]
    end = taken[0][0] + seconds
    while len(taken) < count and clock() < end:
        taken.append(time_steps(session, steps, clock))
    return taken


def steps_per_sample(session: Stepped, clock: Clock = clock) -> int:
    """The fewest steps that keep the cost of timing under a thousandth of a sample, or LONGEST."""
    goal = min(1000 * _cost(session, clock), LONGEST)
    steps = 1
    while (seconds := time_steps(session, steps, clock)[1]) < goal:
        steps = max(steps + 1, math.ceil(steps * goal / max(seconds, 1e-9)))
    return steps


def _cost(session: Stepped, clock: Clock) -> float:
    """What a sample costs beyond its steps: the timer, the wait, and the queue it leaves empty.

    A device that is waited for stands idle until the host has enqueued again: two samples of one
    step take longer than one of two. A quarter of the trials may show less than what is taken for
    that cost; where nothing has to be refilled it is noise about nothing, and so nothing.
    """
    session.step()
    session.wait()
    empty = min(time_steps(session, 0, clock)[1] for _ in range(20))
    refills: list[float] = []
    end = clock() + LONGEST
    while len(refills) < 12 and (not refills or clock() < end):
        apart = sum(time_steps(session, 1, clock)[1] for _ in range(2))
        refills.append(apart - time_steps(session, 2, clock)[1])
    return max(empty, sorted(refills)[len(refills) // 4])
