"""The interval of a quantile: what it covers, and what it does with odd series."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.intervals import inefficiency, interval_over_processes, mean, quantile, student

RANDOM = np.random.default_rng(7)
TIMES = st.lists(st.floats(1e-9, 1e3), min_size=2, max_size=60)


def remembering(random, count, memory):
    values = [random.standard_normal()]
    for noise in random.standard_normal(count - 1):
        values.append(memory * values[-1] + np.sqrt(1 - memory**2) * noise)
    return np.array(values)


def coverage(draw, truth, trials=400):
    found = [quantile(draw()) for _ in range(trials)]
    return np.mean([estimate.low <= truth <= estimate.high for estimate in found])


def test_interval_covers_when_values_are_independent():
    random = np.random.default_rng(1)
    assert 0.92 <= coverage(lambda: random.standard_normal(40) + 9, truth=9) <= 0.985


def test_interval_covers_when_values_remember():
    random = np.random.default_rng(2)
    assert coverage(lambda: 9 + remembering(random, 200, 0.8), truth=9) >= 0.92


def test_memory_makes_values_worth_less():
    random = np.random.default_rng(3)
    independent = quantile(random.standard_normal(1000) + 9).effective
    remembered = quantile(remembering(random, 1000, 0.8) + 9).effective
    assert independent > 700
    assert remembered < 300


def test_slow_swing_under_strong_noise_is_seen():
    random = np.random.default_rng(4)
    noise = random.standard_normal(1000)
    swing = 0.5 * np.sin(np.arange(1000) / 150)
    assert inefficiency(noise + swing) > 5 * inefficiency(noise)


def test_interval_of_constant_values_has_no_width():
    assert quantile([3.0] * 50)[:3] == (3.0, 3.0, 3.0)


@pytest.mark.parametrize("estimate", [quantile, mean, interval_over_processes])
def test_one_value_has_no_interval(estimate):
    found = estimate([2.0])

    assert found.value == 2.0
    assert np.isnan([found.low, found.high]).all()


def test_outliers_do_not_move_the_median_interval():
    values = RANDOM.normal(1.0, 0.01, 200)
    spoiled = values.copy()
    spoiled[::40] = 1e6
    assert quantile(spoiled).high < 1.02


@given(TIMES)
def test_interval_holds_its_value(values):
    for estimate in (quantile(values), quantile(values, 0.9), interval_over_processes(values)):
        assert estimate.low <= estimate.value * (1 + 1e-12)
        assert estimate.value <= estimate.high * (1 + 1e-12)


@given(TIMES, st.floats(0.1, 10))
def test_interval_scales_with_its_values(values, factor):
    once, scaled = quantile(values), quantile(np.array(values) * factor)
    assert scaled.low == pytest.approx(once.low * factor)
    assert scaled.high == pytest.approx(once.high * factor)


def test_two_processes_say_little():
    estimate = interval_over_processes([1.0, 1.1])
    assert estimate.low < 0.7
    assert estimate.high > 1.5


def test_interval_over_processes_covers_with_five():
    random = np.random.default_rng(5)
    found = [
        interval_over_processes(np.exp(random.normal(0, 0.05, 5)).tolist()) for _ in range(2000)
    ]
    covered = np.mean([estimate.low <= 1.0 <= estimate.high for estimate in found])
    assert covered == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize(
    "degrees, expected", [(1, 12.706), (4, 2.776), (13, 2.160), (25, 2.060), (1000, 1.962)]
)
def test_student_is_as_in_the_tables(degrees, expected):
    assert student(degrees) == pytest.approx(expected, rel=0.002)
