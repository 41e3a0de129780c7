"""Timing of steps. It knows a stepped session and a clock, and nothing of models."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from assay.core.sessions import Stepped

Clock = Callable[[], float]
clock: Clock = time.perf_counter

TRIALS = 10  # of a wait that seems not to have waited
WAITED = 0.1  # share of the steps' time left after a wait, up to which it counts as one
LONG_READ = 4  # reads that steps and one read have to last
MOST_UNREAD = 1 << 14  # steps
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
    samples = [time_steps(session, steps, clock)]
    end = samples[0][0] + seconds
    while len(samples) < count and clock() < end:
        samples.append(time_steps(session, steps, clock))
    return samples


def steps_per_sample(session: Stepped, clock: Clock = clock) -> int:
    """The fewest steps that keep the cost of timing under a thousandth of a sample, or LONGEST."""
    goal = min(1000 * _cost(session, clock), LONGEST)
    steps = 1
    while (seconds := time_steps(session, steps, clock)[1]) < goal:
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
