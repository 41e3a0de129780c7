"""Axes: round labels, and points thinned without losing their extremes."""

from __future__ import annotations

import math

import pytest

from assay.web.charts.scale import Scale, downsample, make_scale


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 10, [0, 2, 4, 6, 8, 10]), (0.031, 0.049, [0.035, 0.04, 0.045])],
)
def test_ticks_are_round_and_inside(low, high, expected):
    assert Scale(low=low, high=high).ticks() == pytest.approx(expected)


def test_bytes_have_ticks_at_powers_of_two():
    ticks = Scale(low=0, high=400 * 2**20, unit="B").ticks()

    assert ticks[1] == 128 * 2**20


def test_a_logarithmic_axis_has_ticks_however_narrow():
    ticks = Scale(low=0.97, high=1.04, kind="log").ticks()

    assert 1.0 in ticks


def test_one_value_has_room_around_it():
    scale = make_scale([2.0])

    assert scale.low < 2.0 < scale.high


def test_nan_is_no_end_of_a_scale():
    assert make_scale([1.0, math.nan, 3.0], room=0.0) == Scale(low=1.0, high=3.0)


def test_thinned_points_keep_the_highest_and_the_lowest():
    ys = [math.sin(x / 50) for x in range(10_000)]
    ys[1234], ys[8765] = 99.0, -99.0

    kept = downsample(ys, 500)

    assert {1234, 8765, 0, 9_999} <= set(kept)
    assert len(kept) <= 502
    assert kept == sorted(kept)
