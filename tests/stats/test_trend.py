"""Series → shifts and drifts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.core.series import Point
from assay.stats import trend


def points(values) -> list[Point]:
    return [
        Point(f"r/{n:03d}", f"2026-01-01T{n:06d}", "", "", float(v), math.nan, math.nan)
        for n, v in enumerate(values)
    ]


def noise(count: int, seed: int = 1) -> np.ndarray:
    return 0.01 * np.random.default_rng(seed).standard_normal(count)


def test_a_series_without_a_change_has_neither_shift_nor_drift():
    found = trend.history(points(np.exp(noise(200))))

    assert (found.shifts, found.drifts, found.segments) == ((), (), ((0, 200),))


def test_a_shift_has_a_place_a_size_with_an_interval_and_the_results_beside_it():
    values = np.exp(noise(100))
    values[60:] *= 1.05

    (shift,) = trend.history(points(values)).shifts

    assert abs(shift.place - 60) <= 1
    assert shift.low < 1.05 < shift.high
    assert shift.size == pytest.approx(1.05, abs=0.005)
    assert (shift.before, shift.after) == (f"r/{shift.place - 1:03d}", f"r/{shift.place:03d}")
    assert shift.p < 1e-6


def test_a_bump_is_two_shifts():
    values = np.exp(noise(120))
    values[50:80] *= 1.1

    found = trend.history(points(values))

    assert [abs(s.place - p) <= 1 for s, p in zip(found.shifts, (50, 80), strict=True)] == [1, 1]
    assert found.shifts[1].size < 1 < found.shifts[0].size


def test_outliers_are_no_shift():
    values = np.exp(noise(100))
    values[[5, 33, 34, 70, 99]] *= 2

    assert trend.history(points(values)).shifts == ()


def test_a_slow_change_is_a_drift_and_no_staircase():
    found = trend.history(points(np.exp(noise(300) + np.linspace(0, 0.05, 300))))

    (drift,) = found.drifts
    assert found.shifts == ()
    assert drift.size == pytest.approx(math.exp(0.05), abs=0.005)
    assert drift.points == 300


def test_values_that_are_not_all_positive_shift_by_a_difference():
    values = noise(60)
    values[30:] += 0.5

    (shift,) = trend.history(points(values)).shifts

    assert shift.size == pytest.approx(0.5, abs=0.02)


def test_too_few_points_have_no_shift():
    assert trend.history(points([1, 1, 1, 1, 9, 9, 9, 9])).shifts == ()


def test_ten_thousand_points_are_searched_in_windows():
    values = np.exp(noise(10_000))
    values[4_000:] *= 1.05
    values[7_000:7_060] *= 1.1

    places = [shift.place for shift in trend.history(points(values)).shifts]

    assert np.allclose(places, [4_000, 7_000, 7_060], atol=2)


def test_a_new_point_is_looked_at_with_the_newest_only():
    tracker = trend.Tracker()
    values = np.exp(noise(600))
    values[560:] *= 1.05

    found = [place for place in (tracker.append(point) for point in points(values)) if place]

    assert len(found) == 1 and abs(found[0] - 560) <= 2
    assert len(tracker.window) <= trend.WINDOW
