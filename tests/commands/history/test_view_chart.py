"""A series as letters."""

from __future__ import annotations

import math

from assay.commands.history.view import HEIGHT, chart


def test_the_highest_is_on_top_and_the_axis_is_in_human_units():
    lines = chart([0.001, 0.002, 0.003], "s")

    assert len(lines) == HEIGHT
    assert lines[0].startswith("3.00 ms") and lines[0].endswith("●")
    assert lines[-1].startswith("1.00 ms")


def test_extremes_are_kept_where_many_points_share_a_column():
    values = [1.0] * 1000
    values[500] = 9.0

    assert any("│" in line for line in chart(values, "s")[:3])


def test_a_shift_is_marked():
    assert all("┊" in line or "●" in line for line in chart([1.0, 2.0], "s", [1]))


def test_what_is_not_finite_is_left_out():
    assert chart([math.nan], "s") == []
    assert len(chart([1.0, math.nan, 2.0], "s")) == HEIGHT
    assert len(chart([1.0, 1.0], "s")) == HEIGHT
