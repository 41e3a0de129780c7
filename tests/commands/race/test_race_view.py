"""A race as a table."""

from assay.commands.race.ranking import Place, Race
from assay.commands.race.view import ranking_table
from assay.core.findings import Quantity


def place(key, ratio, state="in", reason=""):
    value = Quantity(value=ratio, low=ratio, high=ratio, unit="", estimator="", n=3)
    return Place(key=key, state=state, ratio=value, time=0.002 * ratio, heats=3, reason=reason)


PLACES = (place("a", 1.0), place("b", 1.5), place("c", 20.0, "out", "slower than b"))


def race(ended):
    return Race(places=PLACES, metric="item_time", minimum=0.02, heats=3, ended=ended)


def test_nobody_is_called_fastest_before_it_is_decided():
    assert ranking_table(race("decided: one is left")).title == "fastest: a"
    for ended in ("", "budget of 5 s used up; 2 contenders left"):
        assert ranking_table(race(ended)).title == "ahead so far, undecided: a"


def test_times_stand_beside_ratios_and_who_is_out_is_told_why():
    rows = ranking_table(race("")).rows

    assert [row[2:4] for row in rows] == [
        ("2.00 ms", "x 1.000"),
        ("3.00 ms", "x 1.500"),
        ("40.0 ms", "x 20.000"),
    ]
    assert rows[2][-1] == "out, slower than 2"
