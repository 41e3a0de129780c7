"""A front as table, chart, figure and document."""

from __future__ import annotations

import pytest

from assay.commands.tune import view
from assay.native.tuner.records import LossInterval, TunedPoint, Tuning
from assay.reporting.output import render


def point(name, speedup, accuracy, promised=True, **more):
    lost = LossInterval(points=98.0 - accuracy, low=0.0, high=1.0, pictures=100, bound=0.5)
    return TunedPoint(
        name=name,
        knobs={} if speedup == 1 else {"conv1": 13},
        words="exact" if speedup == 1 else "1 int8",
        predicted=0.0,
        confirmed=lost,
        test=lost,
        accuracy=accuracy,
        accuracy_low=accuracy - 1,
        accuracy_high=accuracy + 1,
        speedup=speedup,
        speedup_low=speedup,
        speedup_high=speedup,
        seconds=1e-3 / speedup,
        memory=1024,
        promised=promised,
        **more,
    )


@pytest.fixture
def found():
    points = (point("conf1", 1.0, 98.0), point("conf2", 2.5, 97.5), point("conf3", 3.0, 95, False))
    return Tuning(
        model="net",
        objective="time",
        max_loss=1.0,
        seed=0,
        batch=1,
        points=points,
        chosen="conf2",
        pictures={"calibration": 64, "choosing": 10, "confirming": 20, "test": 100},
        seconds=12.0,
    )


def test_the_chosen_point_is_marked_and_promised(found):
    text = render(view.output(found), "text")

    assert "conf2 ◆" in text and "conf3 ○" in text
    assert "conf2: 2.50 times as fast; it loses at most 0.50 points" in text
    assert "energy" not in text  # it was not measured


def test_the_chart_goes_from_the_slowest_to_the_fastest(found):
    lines = view.front_chart(found.points, found)

    assert lines[0].startswith("98.00 % ┤●")
    assert lines[9].endswith("○")


@pytest.mark.real("matplotlib")
def test_the_figure_is_a_file(found, tmp_path):
    view.figure(found, tmp_path / "front.svg")

    assert "<svg" in (tmp_path / "front.svg").read_text()
