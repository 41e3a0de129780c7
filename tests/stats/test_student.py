"""Student's quantile, against printed tables."""

import pytest

from assay.stats.student import two_sided, upper_tail


@pytest.mark.parametrize(
    ("level", "degrees", "value"),
    [
        (0.05, 1, 12.7062),
        (0.05, 2, 4.30265),
        (0.05, 3, 3.18245),
        (0.05, 10, 2.22814),
        (0.02, 4, 3.74695),
        (0.01, 30, 2.75000),
        (0.001, 2, 31.5991),
        (0.001, 5, 6.86883),
        (0.001, 60, 3.46020),
    ],
)
def test_quantiles_are_those_of_the_tables(level, degrees, value):
    assert two_sided(level, degrees) == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize(
    ("value", "degrees", "share"),
    [
        (0.0, 3, 0.5),
        (12.7062, 1, 0.025),
        (3.18245, 3, 0.025),
        (22.2037, 3, 1e-4),
        (2.22814, 10, 0.025),
        (1.95996, float("inf"), 0.025),
        (0.5, 200, 0.308811),
    ],
)
def test_tails_are_those_of_the_tables(value, degrees, share):
    assert upper_tail(value, degrees) == pytest.approx(share, rel=1e-4)
