"""The newest points against a baseline, and many series together."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import UsageError
from assay.stats import gate
from assay.stats.gate import Threshold
from tests.stats.test_trend import noise, points


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("step_time:3%", Threshold(metric="step_time", share=0.03)),
        ("throughput:-5%", Threshold(metric="throughput", share=0.05, worse="lower")),
        ("loss:+0.1", Threshold(metric="loss", share=0.1, worse="higher")),
    ],
)
def test_a_threshold_is_a_metric_a_direction_and_a_share(text, found):
    assert gate.parse_threshold(text) == found


@pytest.mark.parametrize("text", ["step_time", "step_time:", ":3%", "a:3x%", "a:0%", "a:--3%", ""])
def test_a_threshold_that_does_not_parse_is_one_sentence(text):
    with pytest.raises(UsageError, match="is not a threshold") as caught:
        gate.parse_threshold(text)
    assert "step_time:3%" in caught.value.hint


@pytest.mark.parametrize(
    ("size", "unit", "worse"),
    [(1.04, "s", True), (1.02, "s", False), (0.9, "s", False), (0.95, "items/s", True)],
)
def test_what_is_worse_depends_on_the_unit(size, unit, worse):
    assert gate.is_worse(size, Threshold(metric="m", share=0.03), unit) is worse


def test_a_recent_shift_is_found_against_the_stretch_before():
    values = np.exp(noise(80))
    values[73:] *= 1.1

    found = gate.since_stable(points(values))

    assert found.p < 1e-4
    assert found.baseline == (0, 73) and found.candidate == (73, 80)
    assert found.low < 1.1 < found.high


def test_the_baseline_is_not_measured_again_where_the_shift_may_lie():
    far = gate.Judged((10, 50), (50, 60), 1.1, 1.0, 1.2, (1.0, 1.1), 0.0)

    assert gate.stands_for_baseline(far) == 46
    assert gate.stands_for_baseline(far._replace(baseline=(48, 50))) == 48


def test_an_old_shift_is_the_new_baseline():
    values = np.exp(noise(90))
    values[30:] *= 1.1

    found = gate.since_stable(points(values))

    assert abs(found.baseline[0] - 30) <= 1
    assert found.p > 0.01


def test_too_few_points_cannot_be_judged():
    assert gate.since_stable(points([1.0] * 9)) is None


def test_one_result_against_another_is_only_suspect():
    found = gate.against(points([1.0]), points([2.0]))

    assert found.p == 1.0
    assert found.single < gate.SUSPICIOUS
    assert gate.against(points([1.0]), points([1.02])).single > 0.5


def test_a_chosen_baseline_of_many_is_tested_strictly():
    values = np.exp(noise(30))
    values[20:] *= 1.2

    assert gate.against(points(values[:20]), points(values[20:])).p < 1e-3


def test_noise_that_has_outliers_makes_one_no_suspect():
    values = np.exp(noise(60))
    values[::10] *= 1.5

    assert gate.against(points(values), points([1.5])).single > 0.05


def test_many_series_together_alarm_by_their_share():
    assert gate.alarming([0.5] * 200, 0.01) == [False] * 200
    assert gate.alarming([0.001, 0.5, 0.5], 0.01) == [True, False, False]
    assert gate.alarming([0.001] + [0.5] * 199, 0.01) == [False] * 200
    assert gate.alarming([], 0.01) == []


def suite(series: int, nights: int, sd: float = 0.01, seed: int = 5) -> np.ndarray:
    return 1 + sd * np.random.default_rng(seed).standard_normal((series, nights))


def judged(values) -> list[gate.Judged | None]:
    limit = Threshold(metric="step_time", share=0.03)
    return gate.judge([gate.Watch(points(row), limit, "s", "here") for row in values])


@pytest.mark.parametrize("before", [20, 60])
@pytest.mark.parametrize("after", [3, 5, 10])
def test_a_large_step_in_one_of_200_series_is_clear_from_the_third_night_on(before, after):
    values = suite(200, before + after)
    values[17, before:] *= 1.5

    found = judged(values)

    assert [n for n, one in enumerate(found) if gate.is_steady(one, 200, 0.01)] == [17]
    assert found[17].candidate == (before, before + after)
    assert found[17].size == pytest.approx(1.5, abs=0.03)
    assert 1.4 < found[17].low < found[17].size < found[17].high < 1.6


@pytest.mark.parametrize("after", [1, 2])
def test_a_large_step_is_suspect_before_it_is_steady(after):
    values = suite(200, 20 + after)
    values[17, 20:] *= 1.5

    found = judged(values)

    assert [n for n, one in enumerate(found) if gate.is_suspect(one, 200)] == [17]
    assert not any(gate.is_steady(one, 200, 0.01) for one in found)


def test_one_outlier_is_not_steady_on_later_nights():
    values = suite(200, 25)
    values[17, 20] *= 1.5

    assert not any(gate.is_steady(one, 200, 0.01) for one in judged(values))


@pytest.mark.parametrize("count", [1, 6])
def test_up_to_six_points_cannot_tell(count):
    assert judged(suite(3, count)) == [None] * 3


def test_a_constant_series_is_fine_until_it_moves():
    values = np.ones((2, 12))
    values[1, 9:] = 1.5

    still, moved = judged(values)

    assert (still.steady, still.single) == (1.0, 1.0)
    assert gate.is_steady(moved, 2, 0.01)


def test_a_rate_is_worse_when_it_falls():
    rate = Threshold(metric="throughput", share=0.03)
    values = suite(30, 23)
    values[4, 20:] /= 1.5
    values[5, 20:] *= 1.5

    found = gate.judge([gate.Watch(points(row), rate, "items/s", "here") for row in values])

    assert [n for n, one in enumerate(found) if gate.is_steady(one, 30, 0.01)] == [4]


def test_values_that_are_not_positive_are_tested_by_ranks_alone():
    (one,) = judged([np.linspace(-1, 1, 20)])

    assert (one.steady, one.single) == (1.0, 1.0)
