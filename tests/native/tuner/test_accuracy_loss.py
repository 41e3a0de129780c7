"""Accuracy lost, from the same images before and after."""

from __future__ import annotations

import numpy as np
import pytest

from assay.native.tuner.accuracy_loss import (
    _score,
    bound,
    fastest_safe,
    limit,
    loss,
    required_images,
)

RIGHT = np.array([True] * 90 + [False] * 10)


def changed(lost: int, won: int) -> np.ndarray:
    after = RIGHT.copy()
    after[:lost] = False
    after[90 : 90 + won] = True
    return after


def test_only_pictures_that_changed_count():
    found = loss(RIGHT, changed(lost=3, won=1))

    assert (found.lost, found.won, found.n) == (3, 1, 100)
    assert found.points == pytest.approx(2.0)
    assert found.low < 2.0 < found.high


def test_a_limit_is_where_the_score_is_that_of_its_level():
    """At the limit itself, counts as extreme as these have a score of just z."""
    for lost, won, n in ((1, 0, 44), (12, 5, 300), (40, 38, 5000)):
        for z in (1.959964, -1.959964):
            assert _score(lost, won, n, limit(lost, won, n, z)) == pytest.approx(z, abs=1e-6)


def test_intervals_hold_the_truth_as_often_as_they_say():
    draw = np.random.default_rng(25)
    held = 0
    for _ in range(400):
        lost, won = (int(n) for n in draw.multinomial(1000, [0.03, 0.02, 0.95])[:2])
        held += limit(lost, won, 1000, 1.959964) <= 0.01 <= limit(lost, won, 1000, -1.959964)

    assert 0.92 <= held / 400 <= 0.98


def test_no_change_on_few_pictures_is_no_promise():
    few, many = loss(RIGHT, RIGHT), loss(np.tile(RIGHT, 10), np.tile(RIGHT, 10))

    assert bound(few) > 1.0 > bound(many)


@pytest.mark.parametrize("points", [0.5, 1.0, 3.0])
def test_so_many_pictures_are_just_enough(points):
    need = required_images(points)

    assert 100 * limit(0, 0, need, -1.644854) <= points
    assert 100 * limit(0, 0, need - 2, -1.644854) > points


@pytest.mark.parametrize("points", [0.0, -1.0, 100.0])
def test_a_loss_that_nobody_can_promise_is_refused(points):
    with pytest.raises(ValueError, match="points"):
        required_images(points)


def test_the_first_that_may_lose_too_much_ends_the_row():
    good, bad = loss(np.tile(RIGHT, 10), np.tile(RIGHT, 10)), loss(RIGHT, changed(9, 0))

    assert fastest_safe([good, good, bad, good], 1.0) == 2


def test_promises_are_kept_on_pictures_never_seen():
    """Of 400 samples of 2000 images, in which truly just too much is lost, few are promised."""
    draw = np.random.default_rng(24)
    kept = 0
    for _ in range(400):
        lost, won = draw.multinomial(2000, [0.025, 0.015, 0.96])[:2]  # 1.0 points in truth
        kept += 100 * limit(int(lost), int(won), 2000, -1.644854) <= 1.0

    assert kept / 400 <= 0.08  # 5 % is the promise; three standard errors above it
