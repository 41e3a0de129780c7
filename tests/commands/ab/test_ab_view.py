"""A comparison in words."""

import math

import pytest

from assay.commands.ab.view import comparison_table, headline
from assay.core.findings import Quantity
from assay.stats.paired_ratio import Comparison


def comparison(ratio=1.5, verdict="slower", middles=(1.0, 1.5), metric="step_time"):
    value = Quantity(value=ratio, low=ratio, high=ratio, unit="", estimator="", n=3)
    return Comparison(
        metric=metric,
        unit="s",
        verdict=verdict,
        ratio=value,
        pairs=(),
        minimum=0.01,
        spread=math.nan,
        middles=middles,
    )


@pytest.mark.parametrize(
    ("ratio", "verdict", "metric", "words"),
    [
        (1.8936, "slower", "wall_time", "slower: the candidate's wall_time is 89.36 % higher"),
        (0.5, "faster", "step_time", "faster: the candidate's step_time is 50.00 % lower"),
        (1.5, "faster", "rate", "faster: the candidate's rate is 50.00 % higher"),
    ],
)
def test_the_headline_says_what_changed_and_in_which_direction(ratio, verdict, metric, words):
    found = comparison(ratio, verdict, metric=metric)
    assert headline(found) == f"{words} than the baseline's"


def test_times_that_do_not_divide_to_the_ratio_are_explained():
    odd = comparison_table(comparison(1.0184, middles=(0.167, 0.220)))
    plain = comparison_table(comparison(1.5, middles=(1.0, 1.5)))

    assert any("their quotient may differ" in note for note in odd.notes)
    assert not any("their quotient may differ" in note for note in plain.notes)
