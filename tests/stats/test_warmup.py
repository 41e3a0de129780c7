"""Where the steady part begins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.warmup import Steady, find_steady

INDEX = np.arange(1000)


@pytest.fixture
def noise():
    return 1 + 0.01 * np.random.default_rng(0).standard_normal(1000)


def test_steady_values_lose_nothing(noise):
    assert find_steady(noise) == Steady(0, "steady")


@pytest.mark.parametrize("slow", [1, 2, 3])
def test_first_compiled_steps_are_cut_off(noise, slow):
    values = np.where(slow > INDEX, 1000.0, noise)[:60]
    start, verdict, _ = find_steady(values)
    assert verdict == "steady"
    assert slow <= start <= slow + 5


def test_recompilation_and_the_slower_code_before_it_are_cut_off(noise):
    values = np.where(INDEX < 30, 1.2, 1.0) * noise
    values[30] = 2000.0
    start, verdict, _ = find_steady(values[:200])
    assert verdict == "steady"
    assert 30 <= start <= 60


@pytest.mark.parametrize("change", [100, 300, 600])
def test_late_step_change_is_cut_off(noise, change):
    start, verdict, _ = find_steady(np.where(change > INDEX, 1.3, 1.0) * noise)
    assert verdict == "steady"
    assert change - 20 <= start <= change + 20


def test_slow_decay_is_cut_where_it_no_longer_matters(noise):
    values = noise + 0.5 * np.exp(-INDEX / 30)
    start, verdict, _ = find_steady(values)
    assert verdict == "steady"
    assert np.median(values[start:]) == pytest.approx(1.0, rel=0.005)


def test_slowdown_that_does_not_end_is_no_steady_state(noise):
    assert find_steady(noise + INDEX * 3e-4) == Steady(0, "unsteady")


def test_change_near_the_end_is_no_steady_state(noise):
    assert find_steady(np.where(INDEX < 900, 1.3, 1.0) * noise) == Steady(0, "unsteady")


def test_what_came_before_shows_a_change_that_the_values_alone_do_not(noise):
    values = noise[:300] + 0.02 * np.exp(-INDEX[:300] / 150)
    alone, known = find_steady(values[150:]), find_steady(values[150:], values[:150])
    assert alone == Steady(0, "steady")
    assert known.verdict == "warming"
    assert -0.01 < known.drift < -0.002


def test_a_slow_change_is_cut_off_once_it_is_over(noise):
    values = noise + 0.05 * np.exp(-INDEX / 150)
    start, verdict, moved = find_steady(values[200:], values[:200])
    assert (verdict, moved) == ("steady", 0.0)
    rest = slice(200 + start, None)
    assert np.median(values[rest]) == pytest.approx(np.median(noise[rest]), rel=0.0005)


def test_rare_outliers_are_steady(noise):
    values = noise.copy()
    values[::20] += 5
    assert find_steady(values).verdict == "steady"


@pytest.mark.parametrize("count", [0, 1, 11])
def test_few_values_cannot_tell(noise, count):
    assert find_steady(noise[:count]) == Steady(0, "too-few")


def test_constant_values_are_steady():
    assert find_steady([0.5] * 40) == Steady(0, "steady")


@given(st.lists(st.floats(1e-9, 1e3), max_size=80))
def test_start_is_always_within_the_values(values):
    start, *_ = find_steady(values)
    assert 0 <= start <= len(values)
