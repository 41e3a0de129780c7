"""What a result tells of itself is found below headings."""

from assay.records import Case, Procedure, Result
from assay.views.facts import grouped


def test_peaks_and_facts_stand_below_headings_and_none_is_left_out():
    result = Result(
        id="r/001",
        case=Case(workload="w", backend="b"),
        procedure=Procedure(),
        status="ok",
        facts={"outputs": "0.5", "own": 3, "device": "cpu", "mode": "train"},
        peaks={"steal_share": 0.5, "max_rss": 2.0**30},
    )

    found = list(grouped(result))

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

    assert [block for block in grouped(result) if block] == [["what ran", "  mode  train"]]
