"""Two modes are folded into one; everything else stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.shift_search import remove_modes

RNG = np.random.default_rng(9)


def bimodal(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The noise of one mode, and which points lie 6 above."""
    return RNG.standard_normal(count), RNG.random(count) < 0.3


def test_points_of_the_upper_mode_come_down():
    noise, upper = bimodal(150)

    found = remove_modes(noise + 6 * upper)

    assert np.mean(np.abs(found - noise) < 1.5) > 0.97
    assert found.std() < 1.5


def test_a_shift_stays():
    noise, upper = bimodal(120)
    noise[70:] += 2

    found = remove_modes(noise + 6 * upper)

    assert np.median(found[70:]) - np.median(found[:70]) == pytest.approx(2, abs=0.7)


@pytest.mark.parametrize(
    "values",
    [
        RNG.standard_normal(200),
        RNG.standard_normal(200) + 6 * (np.arange(200) > 120),
        RNG.standard_normal(200) + RNG.uniform(5, 15, 200) * (RNG.random(200) < 0.05),
        np.cumsum(RNG.standard_normal(200)),
        np.ones(50),
        np.arange(10.0),
    ],
    ids=["normal", "a step", "outliers", "wandering", "equal", "few"],
)
def test_what_has_no_two_modes_is_left_as_it_is(values):
    assert remove_modes(values) is values
