"""One result as a page of text."""

from __future__ import annotations

import pytest

from assay.analysis.summary import summarize
from assay.findings import Reading
from assay.views.detail import course, detail, histogram
from assay.views.tables import results_table
from tests.analysis.test_summary import noisy, result, steady


def page(found):
    return detail(Reading(result=found, summary=summarize(found)))


def test_page_has_the_number_its_interval_and_its_doubts():
    text = page(result(steady(noisy())))
    assert "step time" in text
    assert "median of one process, n = 200" in text
    assert "note: the interval covers this process only" in text


def test_page_of_a_failed_case_gives_the_reason():
    import msgspec

    failed = msgspec.structs.replace(result(), status="failed", reason="ValueError: no")
    assert "reason: ValueError: no" in page(failed)


def test_peaks_are_in_their_units():
    import msgspec

    found = msgspec.structs.replace(result(steady(noisy())), peaks={"peak_rss": 2.0**30})
    assert "peak_rss  1.00 GiB" in page(found)


def test_histogram_is_highest_where_most_values_are():
    bars, low, high = histogram([1.0] * 5 + [2.0] * 20 + [3.0] * 5, width=3)
    assert (low, high) == (1.0, 3.0)
    assert bars[1] == "█"
    assert bars[0] == bars[2] != "█"


def test_course_rises_with_the_values():
    assert course([1.0, 2.0, 3.0], width=3) == "▁▅█"


@pytest.mark.parametrize("values", [[0.5] * 10, [0.5, 0.6]])
def test_few_or_equal_values_can_be_drawn(values):
    assert "over time" in page(result(steady(values)))


def test_doubt_of_every_row_is_said_once():
    found = result(steady(noisy(spread=0.003)))
    reading = Reading(result=found, summary=summarize(found))
    notes = results_table([reading, reading]).notes
    assert sum("this process only" in note for note in notes) == 1
