"""One interval: normal scores, the step that fits best, and how sure it is."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.stats import changepoints
from assay.stats.changepoints import LENGTHS, LINE, P_VALUES, STEP, line_p_value, step_p_value


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape)


def test_scores_depend_on_the_order_alone_and_equal_values_have_one():
    scores = changepoints.normal_scores(np.array([[3.0, 1.0, 2.0, 2.0], [900.0, 1.0, 2.0, 2.0]]))

    assert scores[0].tolist() == scores[1].tolist()
    assert scores[0][2] == scores[0][3] == pytest.approx(0.0, abs=1e-9)
    assert scores[0][0] == pytest.approx(-scores[0][1])


def test_a_step_is_found_where_it_is():
    values = noise(1, 100)
    values[:, 60:] += 4

    found = changepoints.fit(values)

    assert abs(int(found.place[0]) - 60) <= 1
    assert step_p_value(found.score, 100)[0] < 1e-6
    assert found.line[0] < found.score[0]


def test_a_line_is_no_step():
    found = changepoints.fit(noise(1, 200) + np.linspace(0, 5, 200))

    assert found.line[0] > found.score[0]
    assert line_p_value(found.line, 200)[0] < 1e-6


def test_equal_values_have_no_step():
    found = changepoints.fit(np.ones((1, 30)))

    assert step_p_value(found.score, 30)[0] == 1.0


def test_a_point_with_a_wide_interval_counts_for_less():
    values = noise(40)
    wide = np.zeros(40)
    wide[35:] = 50.0  # the last five were measured on a noisy evening
    values[35:] += 6

    sure = changepoints.fit(values[None])
    doubtful = changepoints.fit(values[None], wide[None])

    assert doubtful.score[0] < sure.score[0] / 2


def test_extra_variance_is_that_beyond_the_scatter_of_the_series():
    values = noise(50)
    lows, highs = values - 0.1, values + 0.1
    lows[7], highs[7] = values[7] - 20, values[7] + 20

    extra = changepoints.extra_variance(values, lows, highs)

    assert extra[7] > 50
    assert extra[[0, 1, 2]].tolist() == [0.0, 0.0, 0.0]
    assert changepoints.extra_variance(values, values * math.nan, values * math.nan).max() == 0.0


@pytest.mark.parametrize("table", [STEP, LINE])
def test_the_table_has_a_quantile_for_every_length_and_p(table):
    assert len(table) == len(LENGTHS)
    for row in table:
        assert len(row) == len(P_VALUES)
        assert list(row) == sorted(row)


def test_p_values_fall_with_the_score_and_go_on_beyond_the_table():
    p = step_p_value(np.array([0.0, 10.0, 15.0, 20.0, 30.0, 60.0]), 100)

    assert p[0] == 1.0
    assert (np.diff(p) < 0).all()
    assert p[-1] < 1e-10
