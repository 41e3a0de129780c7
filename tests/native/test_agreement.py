"""Outputs agree to a share of the largest; infinities and no numbers have to be the same ones."""

from __future__ import annotations

import numpy as np
import pytest

from assay.core.errors import AssayError
from assay.native.agreement import agreement, distance

INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    "found, wanted, apart",
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.0], [1.5, 2.0], 0.25),
        ([0.0, 0.0], [0.0, 0.0], 0.0),
        ([NAN, INF, -INF, 4.0], [NAN, INF, -INF, 2.0], 0.5),
        ([0.0, 1.0], [NAN, 1.0], INF),
        ([NAN, 1.0], [0.0, 1.0], INF),
        ([INF, 1.0], [-INF, 1.0], INF),
        ([1.0], [1.0, 1.0], INF),
    ],
)
def test_the_distance_is_a_share_of_the_largest(found, wanted, apart):
    assert distance(np.array(found), np.array(wanted)) == apart


def test_the_output_that_differs_is_named():
    found, wanted = [np.ones(2), np.ones(2)], [np.ones(2), np.array([1.0, 0.9])]

    with pytest.raises(AssayError, match="net is wrong: its output 'b' differs from Keras"):
        agreement("net", ["a", "b"], found, wanted, "Keras")


def test_a_model_that_makes_much_of_rounding_may_differ_more():
    found, wanted = [np.array([1.0, 0.498])], [np.array([1.0, 0.501])]

    apart = agreement("net", ["a"], found, wanted, "Keras", rounding=lambda: 4e-4)

    assert apart == pytest.approx(0.003)
    with pytest.raises(
        AssayError, match=r"by 0\.003 of the largest value, where 0\.0016 is allowed"
    ):
        agreement("net", ["a"], found, wanted, "Keras", rounding=lambda: 1e-4)


def test_where_rounding_explains_anything_nothing_is_called_right():
    found, wanted = [np.array([0.0, 1.0])], [np.array([1.0, 0.0])]

    with pytest.raises(AssayError, match=r"cannot be checked: .* by 1 of the largest"):
        agreement("net", ["a"], found, wanted, "Keras", rounding=lambda: 1.0)


def test_rounding_does_not_matter_where_outputs_are_near_enough():
    values = [np.ones(2)]

    assert agreement("net", ["a"], values, values, "Keras", rounding=lambda: 1 / 0) == 0.0
