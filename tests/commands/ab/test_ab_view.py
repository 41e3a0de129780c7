"""A comparison in words."""

import math

import msgspec
import pytest

from assay.commands.ab.view import comparison_table, headline, progress_line
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
        (16.7705, "slower", "step_time", "slower: the candidate's step_time is 16.8 times higher"),
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


@pytest.mark.parametrize(
    ("ratio", "verdict", "ended", "line"),
    [
        (1.05, "slower", "", "pair 3: +5.00 % (+4.00 % – +6.00 %), undecided"),
        (1.0, "cannot-tell", "", "pair 3: +0.00 % (−1.00 % – +1.00 %), undecided"),
        (9.0, "slower", "", "pair 3: 9.00 times (8.99 times – 9.01 times), undecided"),
        (1.05, "slower", "decided after 3 pairs", "pair 3: +5.00 % (+4.00 % – +6.00 %), slower"),
        (1.0, "cannot-tell", "undecided: …", "pair 3: +0.00 % (−1.00 % – +1.00 %), undecided"),
    ],
)
def test_progress_has_one_wording_until_it_is_decided(ratio, verdict, ended, line):
    value = Quantity(value=ratio, low=ratio - 0.01, high=ratio + 0.01, unit="", estimator="", n=3)
    found = msgspec.structs.replace(comparison(ratio, verdict), ratio=value, ended=ended)

    assert progress_line(found) == line


def test_a_level_of_98_per_cent_is_explained_where_it_appears():
    table = comparison_table(comparison())

    assert "98 % interval" in table.columns
    assert any(note.startswith("98 %: ") and "95 %" in note for note in table.notes)
