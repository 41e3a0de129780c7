"""A slow change is seen while it is smaller than the noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.decay import Decay, find_decay

INDEX = np.arange(800)


def noise(seed, spread=0.01):
    return 1 + spread * np.random.default_rng(seed).standard_normal(len(INDEX))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_decay_is_found_with_its_height_and_length(sign):
    found = find_decay(noise(0) + sign * 0.05 * np.exp(-INDEX / 150))
    assert found.height == pytest.approx(sign * 0.05, rel=0.2)
    assert found.length == pytest.approx(150, rel=0.3)


def test_a_decay_as_small_as_the_noise_is_found():
    found = [find_decay(noise(seed) + 0.01 * np.exp(-INDEX / 200)) for seed in range(50)]
    assert sum(decay is not None for decay in found) >= 45


def test_noise_is_seldom_a_decay():
    assert sum(find_decay(noise(seed)) is not None for seed in range(100)) <= 6


def test_the_smaller_of_two_modes_is_seldom_a_decay():
    modes = [np.where(np.random.default_rng(s).random(800) < 0.7, 1.0, 1.5) for s in range(100)]
    found = [find_decay(part * noise(seed)) for seed, part in enumerate(modes)]
    assert sum(decay is not None for decay in found) <= 8


def test_outliers_hide_no_decay():
    values = noise(0) + 0.03 * np.exp(-INDEX / 150)
    values[::20] += 5
    assert find_decay(values).height == pytest.approx(0.03, rel=0.5)


def test_a_jump_is_no_decay():
    assert find_decay(np.where(INDEX < 200, 1.3, 1.0) * noise(0)) is None


def test_a_decay_after_a_jump_is_told_from_the_beginning():
    decay = np.where(INDEX < 200, 0.3, 0.05 * np.exp(-(INDEX - 200) / 100))
    found = find_decay(noise(0) + decay)
    assert found.remainder(300, 800) == pytest.approx(decay[300:].mean(), rel=0.3)


def test_a_short_decay_long_after_a_jump_is_not_too_large_to_tell():
    """Seen: seen from the beginning of the series, its height was no number."""
    long = np.arange(100_000)
    decay = np.where(long < 90_000, 0.3, 0.05 * np.exp(-np.maximum(long - 90_000, 0) / 40))
    random = np.random.default_rng(0)
    found = find_decay(1 + decay + 1e-4 * random.standard_normal(len(long)))
    assert found.begin >= 89_000
    assert abs(found.remainder(95_000, 100_000)) < 1e-3


def test_what_is_left_is_the_mean_of_the_rest():
    shape = 2.0 * np.exp(-(np.arange(100) + 0.5) / 30)
    assert Decay(2.0, 30.0).remainder(40, 100) == pytest.approx(shape[40:].mean(), rel=1e-3)


@given(st.lists(st.floats(1e-9, 1e3), max_size=90))
def test_any_values_are_answered(values):
    found = find_decay(values)
    assert found is None or (np.isfinite(found.height) and found.length > 0)
