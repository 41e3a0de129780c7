"""One result as a page of text."""

from __future__ import annotations

import pytest

from assay.core.findings import SummarizedResult, Summary
from assay.core.records import Case, Procedure, Result, Samples
from assay.reporting.detail import detail, histogram, sparkline
from assay.reporting.timings import results_table
from assay.stats.summary import summarize
from tests.stats.test_summary import noisy, result, steady


def page(found):
    return detail(SummarizedResult(result=found, summary=summarize(found)))


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
    assert sparkline([1.0, 2.0, 3.0], width=3) == "▁▅█"


@pytest.mark.parametrize("values", [[0.5] * 10, [0.5, 0.6]])
def test_few_or_equal_values_can_be_drawn(values):
    assert "over time" in page(result(steady(values)))


def test_doubt_of_every_row_is_said_once():
    found = result(steady(noisy(spread=0.003)))
    reading = SummarizedResult(result=found, summary=summarize(found))
    notes = results_table([reading, reading]).notes
    assert sum("this process only" in note for note in notes) == 1


def blocks(result: Result) -> list[list[str]]:
    """The facts of a result on its page."""
    page = detail(SummarizedResult(result=result, summary=Summary()))
    return [block.splitlines() for block in page.split("\n\n")[1:]]


def test_peaks_and_facts_stand_below_headings_and_none_is_left_out():
    result = Result(
        id="r/001",
        case=Case(workload="w", backend="b"),
        procedure=Procedure(),
        status="ok",
        facts={"outputs": "0.5", "own": 3, "device": "cpu", "mode": "train"},
        peaks={"steal_share": 0.5, "max_rss": 2.0**30},
    )

    found = blocks(result)

    assert found == [
        ["what ran", "  mode    train", "  device  cpu"],
        ["what it used", "  max_rss  1.00 GiB"],
        ["the machine meanwhile", "  steal_share  0.500"],
        ["other facts", "  own  3"],
        ["to compare its outputs", "  outputs  0.5"],
    ]


def test_a_heading_without_lines_is_not_shown():
    result = Result(
        id="r/001",
        case=Case(workload="w", backend="b"),
        procedure=Procedure(),
        status="failed",
        facts={"mode": "train"},
    )

    assert blocks(result) == [["what ran", "  mode  train"]]


def test_what_a_task_told_is_drawn_repeat_by_repeat():
    told = Samples(metric="loss", unit="", phase="steady", values=(3.0, 2.0, 1.0))
    case = Case(workload="train", backend="command", key="train@command")
    made = Result(
        id="r/001",
        case=case,
        procedure=Procedure(),
        status="ok",
        samples=(told,),
        facts={"metric loss": "last of 9 values"},
    )

    lines = page(made).splitlines()

    assert "loss, 3 repeats, from 1.00 to 3.00" in lines
    assert "  █▅▁" in lines
