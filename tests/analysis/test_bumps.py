"""Two steps at once."""

from __future__ import annotations

import numpy as np
import pytest

from assay.analysis import bumps, changepoints, shift_search
from assay.analysis.intervals import Array

RNG = np.random.default_rng(4)


def correlated(length: int, phi: float = 0.5) -> Array:
    values = RNG.standard_normal(length)
    for place in range(1, length):
        values[place] = phi * values[place - 1] + np.sqrt(1 - phi**2) * values[place]
    return values


def test_a_bump_is_found_at_both_ends():
    values = RNG.standard_normal((3, 100))
    values[:, 40:60] += 3

    found = bumps.fit_pair(values)

    assert np.abs(found.first - 40).max() <= 2 and np.abs(found.second - 60).max() <= 2
    assert bumps.clear(found.score, 100, 0.001).all()


def test_the_score_is_that_of_two_regressors_in_correlated_noise():
    values = correlated(40)
    values[10:25] += 2
    scores = changepoints.normal_scores(values[None])[0]
    found = bumps.fit_pair(values[None])
    ones, places = np.ones(40), np.arange(40)
    steps = [(places >= int(at[0])).astype(float) for at in (found.first, found.second)]

    none = min(cost(scores, [ones], phi) for phi in changepoints.PHIS)
    two = min(
        cost(scores, [ones, *steps], phi) + changepoints.PHI_COST * phi for phi in changepoints.PHIS
    )

    assert found.score[0] == pytest.approx(none - two)


def cost(scores: Array, columns: list[Array], phi: float) -> float:
    """Twice the negative log-likelihood, by matrices."""
    count = len(scores)
    deviation = np.full(count, np.sqrt(1 - phi**2))
    deviation[0] = 1.0
    whiten = (np.eye(count) - phi * np.eye(count, k=-1)) / deviation[:, None]
    design, values = whiten @ np.stack(columns, 1), whiten @ scores
    left = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return count * np.log(left @ left) + 2 * np.log(deviation).sum()


def test_noise_alone_is_not_clear():
    assert not bumps.clear(bumps.fit_pair(RNG.standard_normal((5, 60))).score, 60, 0.001).any()


def test_a_short_bump_is_two_shifts():
    values = RNG.standard_normal(100)
    values[44:56] += 6

    found = shift_search.find(shift_search.Track(values, np.zeros(100), False))

    assert len(found) == 2
    assert abs(found[0] - 44) <= 2 and abs(found[1] - 56) <= 2
