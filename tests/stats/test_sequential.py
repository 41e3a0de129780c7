"""The interval over pairs is right at every look: by simulation with fixed seeds."""

import math

import numpy as np
import pytest

from assay.stats import sequential
from assay.stats.student import two_sided

TRIALS = 4000
TOGETHER = 0.02
NOISE = 3 * math.sqrt(TOGETHER * (1 - TOGETHER) / TRIALS)  # of a rate over the trials


def excluded(values):
    """The share of rows at any of whose looks the interval leaves out 0."""
    out = []
    for count in range(sequential.MIN_PAIRS, values.shape[1] + 1):
        middle, reached, _ = sequential.narrower_interval(values[:, :count])
        out.append(np.abs(middle) > reached)
    return float(np.mean(np.any(out, axis=0)))


def normal(random, shape):
    return random.standard_normal(shape)


def heavy(random, shape):
    """As a machine whose neighbours come and go: now and then a pair is far off."""
    return random.standard_t(2, shape)


def uneven(random, shape):
    """Some pairs have ten times the noise of others."""
    return random.standard_normal(shape) * np.where(random.random(shape) < 0.3, 10, 1)


@pytest.mark.parametrize("noise", [normal, heavy, uneven])
def test_no_look_of_58_excludes_the_truth_in_more_than_2_percent(noise):
    values = noise(np.random.default_rng(3), (TRIALS, sequential.MAX_PAIRS))

    assert excluded(values) <= TOGETHER + NOISE


def test_the_level_is_not_wasted():
    """With normal noise the rate is what it was made for, not far less."""
    values = normal(np.random.default_rng(4), (TRIALS, sequential.MAX_PAIRS))

    assert excluded(values) >= TOGETHER - NOISE


def test_looking_with_the_usual_level_would_err_far_more():
    values = normal(np.random.default_rng(5), (TRIALS, 20))
    errors = [
        abs(row[:n].mean()) > row[:n].std(ddof=1) * two_sided(0.02, n - 1) / math.sqrt(n)
        for row in values[:1000]
        for n in (3, 5, 8, 13, 20)
    ]
    ever = np.any(np.reshape(errors, (1000, 5)), axis=1)

    assert np.mean(ever) > 2 * TOGETHER


def test_the_interval_of_three_by_hand():
    found = sequential.interval([0.01, 0.02, 0.03], level=0.05 / sequential.PLAIN)

    assert found.middle == pytest.approx(0.02)
    assert found.reach == pytest.approx(4.30265 * 0.01 / math.sqrt(3), rel=1e-4)


@pytest.mark.parametrize("values", [[0.1], [0.1, 0.2]])
def test_fewer_than_three_values_say_nothing_of_the_noise_between_them(values):
    assert sequential.interval(values).reach == math.inf


def test_one_disturbed_pair_does_not_hide_what_the_others_agree_on():
    """Seen: four pairs near 0.50 and one at 1.17 gave 0.16 to 2.15."""
    logs = np.log([0.50, 0.502, 0.498, 0.501, 1.17, 0.499, 0.503])

    found = sequential.interval(logs)

    assert math.exp(found.high) < 0.6
    assert math.exp(found.middle) == pytest.approx(0.50, rel=0.01)


def test_without_disturbance_the_interval_is_students():
    values = np.random.default_rng(6).standard_normal(12)

    found = sequential.interval(values)

    assert found.middle == pytest.approx(values.mean())
    assert found.reach == sequential.reach(float(values.std(ddof=1)), 12)
