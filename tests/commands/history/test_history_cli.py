"""assay history: the chart, the table, the document."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from assay.core.registry import open_store
from tests.commands.history.test_history import keep_series, nights


@pytest.fixture
def series(home) -> None:
    with closing(open_store(home)) as store:
        keep_series(store, nights(40, 25))


def test_the_page_has_a_chart_and_the_shift(assay, series):
    status, out, _ = assay("history", "w@b")

    assert status == 0
    assert "●" in out and "┊" in out
    assert "40 points, 2026-01-01 … 2026-02-09" in out
    assert ("2026-01-26" in out and "+10." in out) or "+9." in out
    assert "nothing that assay records" in out


def test_json_has_every_point_and_shift(assay, series):
    (found,) = json.loads(assay("history", "w@b", "--format", "json")[1])["histories"]

    assert len(found["points"]) == 40
    assert found["points"][0]["started"].startswith("2026-01-01")
    assert [one["shift"]["place"] for one in found["shifts"]] == [25]


def test_csv_has_a_row_a_point(assay, series):
    assert len(assay("history", "w@b", "--format", "csv")[1].splitlines()) == 41


def test_several_series_are_a_table(assay, series, home):
    with closing(open_store(home)) as store:
        keep_series(store, nights(3), workload_version="2")

    status, out, _ = assay("history", "w")

    assert status == 0 and "●" not in out
    assert "Name a whole case" in out


def test_nothing_to_show_is_one_sentence(assay):
    status, _, error = assay("history", "w@b")

    assert status == 2
    assert "No result of 'w@b' is kept that ended well." in error
