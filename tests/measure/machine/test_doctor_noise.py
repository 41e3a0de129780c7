"""Noise as numbers."""

import numpy as np
import pytest

from assay.measure.machine.doctor import noise


def test_identical_samples_have_no_noise():
    found = noise([1.0] * 50, [1.0] * 50)

    assert (found.spread, found.difference, found.visible) == (0.0, 0.0, 0.0)


def test_a_difference_is_told_as_a_share():
    assert noise([1.0] * 50, [1.1] * 50).difference == pytest.approx(0.1)


def test_pairs_see_through_a_drift_that_hides_it_from_single_samples():
    random = np.random.default_rng(1)
    drift = 1 + np.abs(np.sin(np.arange(200) / 20))

    found = noise(drift * random.normal(1, 0.01, 200), drift * random.normal(1, 0.01, 200))

    assert found.visible < 0.2 * found.visible_unpaired


def test_what_is_called_visible_is_seen_in_about_four_of_five_trials():
    random = np.random.default_rng(2)
    seen, trials = 0, 100
    change = np.median([noise(*random.lognormal(0, 0.05, (2, 100))).visible for _ in range(10)])
    for _ in range(trials):
        a, b = random.lognormal(0, 0.05, (2, 100))
        found = noise(a, b * np.exp(change))
        half_width = found.visible / (2.802 / 1.96)
        seen += abs(np.log1p(found.difference)) > half_width

    assert 0.7 <= seen / trials <= 0.9
