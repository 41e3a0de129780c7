"""The page of accuracies."""

from __future__ import annotations

import pytest

from assay.core.series import Point, SeriesKey, StoredSeries
from assay.web.pages.accuracy import accuracy_page


class Store:
    """A store with one accuracy."""

    def __init__(self, unit: str, *numbers: float) -> None:
        key = SeriesKey(workload="train", backend="command", key="train@command")
        self._series = StoredSeries(
            series=key, metric="accuracy", unit=unit, count=1, first="2026", last="2026"
        )
        self._point = Point("run/001", "2026-11-01", "", "", *numbers)

    def series(self, query):
        return [self._series]

    def points(self, series, metric, limit):
        return [self._point]


@pytest.mark.parametrize(
    ("unit", "numbers", "texts"),
    [
        ("", (0.70, 0.68, 0.72), ("70.00 %", "68.00 – 72.00")),
        ("", (0.70, float("nan"), float("nan")), ("70.00 %", "")),
        ("", (70.0, 68.0, 72.0), ("70.00 %", "68.00 – 72.00")),
        ("%", (0.70, 0.68, 0.72), ("0.70 %", "0.68 – 0.72")),
    ],
)
def test_an_accuracy_is_shown_in_per_cent(unit, numbers, texts):
    page = accuracy_page(Store(unit, *numbers), {})

    [row] = page.sections[-1].grid.rows
    assert tuple(cell.text for cell in row[1:3]) == texts
