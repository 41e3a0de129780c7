"""Probabilities of the first changed revision."""

from __future__ import annotations

import math
import random

import pytest

from assay.commands.bisect import api
from assay.commands.bisect.api import BisectStep, Observation
from assay.stats import student

EFFECT = math.log(1.05)


def test_before_anything_is_known_all_are_alike():
    assert api.probabilities(4, EFFECT, []) == pytest.approx([0.25] * 4)


def test_a_slow_revision_puts_the_change_at_or_before_it():
    chances = api.probabilities(4, EFFECT, [Observation(2, EFFECT, 0.001)])

    assert sum(chances[:2]) > 0.95
    assert chances[0] == pytest.approx(chances[1])


def test_a_doubtful_comparison_moves_little_and_no_one_is_believed_wholly():
    doubtful = api.probabilities(2, EFFECT, [Observation(1, EFFECT / 2, 0.05)])
    sure = api.probabilities(2, EFFECT, [Observation(1, EFFECT, 1e-9)])

    assert doubtful == pytest.approx([0.5, 0.5], abs=0.05)
    assert 0.95 < sure[0] < 0.999


def test_the_next_is_where_the_chances_part_in_half_but_nothing_that_was_skipped():
    assert api.most_even_split([0.25] * 4, ()) == 2
    assert api.most_even_split([0.25] * 4, {2}) in {1, 3}
    assert api.most_even_split([0.25] * 4, {1, 2, 3}) == 0


def test_what_could_not_be_measured_cannot_be_told_from_the_one_after():
    places, chance = api.find_suspects([0.05, 0.5, 0.4, 0.05], {2})

    assert places == [2, 3]
    assert chance == pytest.approx(0.9)


def tried(**parts: object) -> BisectStep:
    ends = {"low": 1.05 / 1.02, "high": 1.05 * 1.02}
    return BisectStep(place=3, name="c", verdict="slower", ratio=1.05, **ends, **parts)


def test_the_error_is_that_of_the_mean_of_the_pairs():
    assert api.observation_of(tried(pairs=9, spread=0.03)) == (
        3,
        EFFECT,
        pytest.approx(0.01),
        8,
    )


def test_without_pairs_an_interval_of_98_percent_becomes_a_standard_error():
    found = api.observation_of(tried(pairs=2))

    assert found.error == pytest.approx(math.log(1.02) / 2.326)


@pytest.mark.parametrize(
    ("change", "error", "degrees", "enough"),
    [
        (EFFECT, 0.003, 3, True),  # surely changed
        (0.0, 0.003, 3, True),  # surely the same
        (EFFECT / 2, 0.003, 3, False),  # in the middle
        (EFFECT, 0.03, 3, False),  # not known well
        (EFFECT, 0.01, 2, False),  # three pairs may agree by chance
        (EFFECT, 0.01, 30, True),
    ],
)
def test_a_comparison_need_not_go_on_when_it_says_as_much_as_is_believed(
    change, error, degrees, enough
):
    assert api.is_decisive(Observation(1, change, error, degrees), EFFECT) is enough


def test_the_density_of_students_t_has_an_area_of_one():
    for degrees in (2, 5, math.inf):
        area = sum(student.density(n / 100, degrees) for n in range(-20_000, 20_001)) / 100
        assert area == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_noisy_comparisons_find_the_one_of_thirty(seed):
    rng = random.Random(seed)
    first, seen = rng.randrange(1, 30), []
    for _ in range(40):
        chances = api.probabilities(29, EFFECT, seen)
        if max(chances) > 0.95:
            break
        place = api.most_even_split(chances, ())
        truth = EFFECT if place >= first else 0.0
        seen.append(Observation(place, rng.gauss(truth, 0.01), 0.01))

    assert chances.index(max(chances)) + 1 == first
