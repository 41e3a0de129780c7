"""Intervals of the tails cover as those of the median do."""

from __future__ import annotations

import numpy as np
import pytest

from assay.stats.intervals import quantile


@pytest.mark.parametrize(("share", "count"), [(0.5, 300), (0.9, 300), (0.99, 3000)])
def test_an_interval_of_a_tail_covers_its_truth(share, count):
    """Exponential values: the truth of a share p is -log(1 - p). 400 trials stray by 1 %."""
    random = np.random.default_rng(5)
    truth = -np.log(1 - share)
    found = [quantile(random.exponential(size=count), share) for _ in range(400)]

    assert 0.91 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99


def test_an_interval_of_a_tail_is_not_the_whole_range():
    values = np.random.default_rng(6).standard_normal(5000)

    found = quantile(values, 0.9)

    assert 1.2 < found.low < found.high < 1.4
