"""The first page and the gate report the same."""

from __future__ import annotations

from contextlib import closing

import pytest

from assay.core.registry import open_store
from assay.web.pages.findings import Findings
from assay.web.pages.overview import overview_page
from tests.commands.history.test_history import keep_series, nights


@pytest.fixture
def store(home):
    with closing(open_store(home)) as opened:
        yield opened


def test_a_suspect_is_not_below_a_green_sentence(store):
    keep_series(store, [*nights(20), 0.0284])

    page = overview_page(store, Findings())

    assert page.lead == "1 suspect in 1 series against the last stretch without a shift."
    assert page.mood == "bad"
    assert "Regressions and suspects" in [section.title for section in page.sections]


def test_nothing_has_become_slower_where_the_gate_is_green(store):
    keep_series(store, nights(20))

    page = overview_page(store, Findings())

    assert (page.lead, page.mood) == ("Nothing has become slower.", "good")
