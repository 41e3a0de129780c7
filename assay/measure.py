"""Timing of steps. It knows a stepped session and a clock, and nothing of models."""

from __future__ import annotations

import time
from collections.abc import Callable

from assay.contracts import Stepped

Clock = Callable[[], float]
clock: Clock = time.perf_counter


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
    """The fewest steps that keep the timer and the wait under a thousandth of a sample."""
    session.step()
    session.wait()
    cost = min(time_steps(session, 0, clock)[1] for _ in range(20))
    steps, goal = 1, 1000 * cost
    while (seconds := time_steps(session, steps, clock)[1]) < goal:
        steps = max(2 * steps, round(steps * goal / max(seconds, cost, 1e-9)))
    return steps
