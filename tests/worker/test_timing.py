"""Timing of steps, with a clock that is handed in."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from assay.testing import FakeClock, FakeSession
from assay.worker import timing
from assay.worker.timing import steps_per_sample, take, time_steps, unsynchronized_share


def test_time_includes_what_the_device_does_after_the_last_step():
    clock = FakeClock()
    session = FakeSession(clock, seconds_per_step=0.25)
    start, seconds = time_steps(session, 4, clock)
    assert (start, seconds) == (0.0, 1.0)


def test_take_stops_at_the_count():
    clock = FakeClock()
    session = FakeSession(clock, seconds_per_step=0.1)
    assert len(take(session, 1, 5, 100.0, clock)) == 5


def test_take_stops_when_the_time_is_over():
    clock = FakeClock()
    session = FakeSession(clock, seconds_per_step=0.25)
    assert len(take(session, 1, 1000, 1.0, clock)) == 4


def test_take_brings_one_sample_however_long_it_is():
    clock = FakeClock()
    session = FakeSession(clock, seconds_per_step=60.0)
    assert take(session, 2, 10, 1.0, clock) == [(0.0, 120.0)]


def test_each_sample_has_its_own_start():
    clock = FakeClock()
    session = FakeSession(clock, seconds_per_step=[1.0, 2.0, 4.0])
    assert take(session, 1, 3, 100.0, clock) == [(0.0, 1.0), (1.0, 2.0), (3.0, 4.0)]


def test_short_steps_are_timed_in_groups():
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, seconds_per_step=1e-6)
    assert steps_per_sample(session, clock) >= 95


def test_long_steps_are_timed_one_by_one():
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, seconds_per_step=0.01)
    assert steps_per_sample(session, clock) == 1


def test_a_queue_that_has_to_be_filled_again_makes_longer_samples():
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, seconds_per_step=0.001, seconds_to_refill=2e-5)
    steps = steps_per_sample(session, clock)
    assert 2e-5 / (steps * 0.001) <= 0.0011


def test_no_sample_is_made_longer_than_a_quarter_of_a_second():
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, seconds_per_step=0.01, seconds_to_refill=0.005)
    assert steps_per_sample(session, clock) <= 26


def drawn(seed, spread=0.01, modes=(1.0, 1.0)):
    random = np.random.default_rng(seed)
    return random.choice(modes, 2000, p=(0.7, 0.3)) * (1 + spread * random.standard_normal(2000))


@pytest.mark.parametrize("noise", [{}, {"modes": (1.0, 1.5)}, {"spread": 0.1}])
@pytest.mark.parametrize("seconds", [0.004, 0.04])
def test_noise_is_not_taken_for_the_cost_of_a_wait(noise, seconds):
    """Seen: 25 of 300 callables of 4 ms (70 %) or 6 ms (30 %) became means of 13 steps."""
    grouped = 0
    for seed in range(100):
        clock = FakeClock(cost=1e-7)
        session = FakeSession(clock, (seconds * drawn(seed, **noise)).tolist())
        grouped += steps_per_sample(session, clock) > 1
    assert grouped <= 1


@pytest.mark.parametrize("seconds", [0.0005, 0.004, 0.03])
def test_a_cost_under_noise_is_found_and_measured(seconds):
    for seed in range(20):
        clock = FakeClock(cost=1e-7)
        steps = (seconds * drawn(seed, spread=0.005)).tolist()
        session = FakeSession(clock, steps, seconds_to_refill=0.03 * seconds)
        wanted = min(30, 0.25 / seconds)
        assert wanted / 1.5 <= steps_per_sample(session, clock) <= 1.5 * wanted


@pytest.mark.parametrize("disturbed", [3, 8, 20])
def test_one_hiccup_does_not_hide_a_cost(disturbed):
    clock = FakeClock(cost=1e-7)
    steps = (0.02 * drawn(0, spread=0.002)).tolist()
    steps[disturbed] += 0.02
    session = FakeSession(clock, steps, seconds_to_refill=0.0009)
    assert steps_per_sample(session, clock) in {12, 13}


def test_steps_that_get_faster_meanwhile_have_no_cost():
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, lambda now: 0.004 * (1 + math.exp(-now / 0.7)))
    assert steps_per_sample(session, clock) == 1


def test_nothing_is_calibrated_where_a_few_more_steps_would_gain_little():
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, 0.1, seconds_to_refill=0.01)
    assert (steps_per_sample(session, clock), session.steps) == (1, 1)


@pytest.mark.parametrize("seconds", [0.3, 0.1, 0.02, 0.001, 1e-6])
@pytest.mark.parametrize("refill", [0.0, 0.0002])
def test_samples_of_a_device_with_a_queue_last_a_quarter_of_a_second(seconds, refill):
    """Seen on an H200: whether every step of 19 ms was waited for, at 1 to 15 % of it, was luck."""
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, seconds, seconds_to_refill=refill)
    found = steps_per_sample(session, clock, queued=True)
    assert (found == 1) == (seconds >= 0.25)
    assert found == 1 or 0.12 < found * seconds < 0.3


@pytest.mark.parametrize("step", [1e-8, 1e-6, 1e-4])
def test_a_group_is_a_thousand_times_the_cost_of_the_clock(step):
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, seconds_per_step=step)
    steps = steps_per_sample(session, clock)
    assert steps * step >= 0.99 * 1000 * 1e-7


@pytest.mark.parametrize("read", [0.0, 0.01, 2.0])
def test_a_true_wait_leaves_nothing_to_a_read(read):
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, seconds_per_step=0.01)
    assert unsynchronized_share(session, reading(session, clock, read), clock) < 0.01


@pytest.mark.parametrize("read", [0.0, 0.01, 2.0])
def test_what_a_missing_wait_leaves_is_found_in_the_read_after_it(read):
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, seconds_per_step=0.01, waits=False)
    assert unsynchronized_share(session, reading(session, clock, read), clock) > 0.7


def test_one_slow_read_is_not_a_missing_wait():
    clock = FakeClock(cost=1e-7)
    session = FakeSession(clock, seconds_per_step=0.01)
    slow = iter([0.0, 5.0])

    assert unsynchronized_share(session, lambda: clock.advance(next(slow, 0.0)), clock) < 0.01


def reading(session, clock, seconds):
    """A read that takes so long by itself."""

    def read():
        session.read()
        clock.advance(seconds)

    return read


def test_the_step_of_a_coarse_clock_is_seen():
    ticks = itertools.count()

    assert timing.clock_step(lambda: next(ticks) // 100 * 0.015625) == pytest.approx(0.015625)
    assert timing.clock_step() < timing.COARSE


def test_a_clock_that_stands_still_has_no_step():
    assert timing.clock_step(lambda: 1.0) == math.inf
