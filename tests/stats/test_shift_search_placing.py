"""Where a shift lies: the density of the noise tells what ranks do not."""

from __future__ import annotations

import numpy as np

from assay.stats.shift_search import localize

RNG = np.random.default_rng(6)


def test_a_shift_among_two_modes_is_placed_by_the_modes():
    noise = 0.5 * RNG.standard_normal(80) + 6 * (RNG.random(80) < 0.3)
    noise[50:] += 2

    assert localize(noise, [46]) == [50]


def test_outliers_do_not_pull_a_shift():
    noise = 0.3 * RNG.standard_normal(60)
    noise[30:] += 2
    noise[[26, 27]] += 9

    assert localize(noise, [26]) == [30]


def test_normal_noise_leaves_a_small_shift_where_it_was_found():
    noise = RNG.standard_normal(60)
    noise[30:] += 1

    assert localize(noise, [28]) == [28]


def test_a_large_shift_is_placed_where_the_values_change_sides():
    noise = RNG.standard_normal(24)
    noise[20:] += 12

    assert localize(noise, [18]) == [20]


def test_a_shift_stays_between_its_neighbours_and_equal_values_stay():
    values = np.repeat([0.0, 1.0, 5.0], 10)

    assert localize(values, [10, 20]) == [10, 20]
    assert localize(values, []) == []
