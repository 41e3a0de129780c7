"""Several steps at once."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats import changepoints, segmentation, shift_search
from assay.stats.intervals import Array

RNG = np.random.default_rng(4)


def correlated(length: int, phi: float = 0.5) -> Array:
    values = RNG.standard_normal(length)
    for place in range(1, length):
        values[place] = phi * values[place - 1] + np.sqrt(1 - phi**2) * values[place]
    return values


def found_in(values: Array) -> list[int]:
    return shift_search.find(shift_search.Track(values, np.zeros(len(values)), False))


def test_a_bump_is_found_at_both_ends():
    values = RNG.standard_normal(100)
    values[40:60] += 3

    one, two, three = segmentation.fit(values, np.zeros(100))

    assert np.abs(np.array(two.places) - [40, 60]).max() <= 2
    assert one.score < two.score <= three.score + 1
    assert segmentation.clear([one, two, three], 100, 0.001)


def test_the_score_is_that_of_two_regressors_in_correlated_noise():
    values = correlated(40)
    values[10:25] += 2
    scores = changepoints.normal_scores(values[None])[0]
    two = segmentation.fit(values, np.zeros(40))[1]
    ones, places = np.ones(40), np.arange(40)
    steps = [(places >= at).astype(float) for at in two.places]

    none = min(cost(scores, [ones], phi) for phi in segmentation.PHIS)
    both = min(
        cost(scores, [ones, *steps], phi) + segmentation.PHI_COST * phi for phi in segmentation.PHIS
    )

    assert two.score == pytest.approx(none - both)


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
    for _ in range(5):
        assert not segmentation.clear(segmentation.fit(correlated(60), np.zeros(60)), 60, 0.001)


def test_thresholds_rise_as_the_level_falls_and_with_the_steps():
    ordinary, strict = (segmentation.threshold(1, 100, level) for level in (0.01, 0.0001))

    assert ordinary < strict
    assert segmentation.threshold(0, 100, 0.01) < ordinary < segmentation.threshold(2, 100, 0.01)


def test_three_steps_in_correlated_noise_are_found_together():
    values = 0.7 * correlated(100)
    for place, size in ((30, 2.5), (60, 3.5), (80, -3.5)):
        values[place:] += size

    found = segmentation.fit(values, np.zeros(100))

    assert np.abs(np.array(found[2].places) - [30, 60, 80]).max() <= 2
    assert segmentation.clear(found, 100, 0.001)


def test_a_straight_line_is_no_staircase():
    assert found_in(RNG.standard_normal(200) + np.linspace(0, 8, 200)) == []


def test_a_point_with_a_wide_interval_counts_for_less():
    values = RNG.standard_normal(40)
    values[34:] += 6
    wide = np.zeros(40)
    wide[34:] = 50.0

    sure, doubtful = (segmentation.fit(values, extra)[0].score for extra in (np.zeros(40), wide))

    assert doubtful < sure / 2


def test_equal_values_have_no_step():
    assert found_in(np.ones(30)) == []
