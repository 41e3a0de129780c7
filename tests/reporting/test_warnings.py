"""The notes under a table: the gravest first, one line for what rows share, no more than rows."""

from __future__ import annotations

import pytest

from assay.core.findings import Doubt, SummarizedResult, Summary
from assay.core.records import Case, Procedure, Result
from assay.reporting.warnings import MIN_LINES, notes
from tests.reporting.test_timings import quantity

LOAD = Doubt(code="other-load", text="other programs kept 1.4 cores busy", remedy="Close them.")
SPREAD = Doubt(code="spread", text="the samples spread by 20 %", remedy="Sample longer.")
ONE = Doubt(code="one-process", text="the interval covers one process", remedy="Use more.")
MISSED = Doubt(code="target-missed", text="the interval is ± 6 %", remedy="Sample longer.")


def reading(name: str, *doubts: Doubt, reason: str = "") -> SummarizedResult:
    result = Result(
        id="20261115-101500-k3fq/001",
        case=Case(workload="net", backend=name, key=f"net@{name}"),
        procedure=Procedure(),
        status="failed" if reason else "ok",
        reason=reason,
    )
    timed = {} if reason else {"step_time": quantity(0.01, 0.01, "s")}
    return SummarizedResult(result=result, summary=Summary(quantities=timed, doubts=doubts))


def lines(*readings: SummarizedResult) -> list[str]:
    return notes(readings, [one.result.case.key for one in readings])


def test_load_from_other_programs_comes_before_what_merely_widens():
    found = lines(reading("a", ONE, SPREAD, LOAD))

    assert [line.split(".")[0] for line in found] == [
        "other programs kept 1",
        "the samples spread by 20 %",
        "the interval covers one process",
    ]


def test_what_all_rows_share_is_one_line():
    assert lines(reading("a", ONE), reading("b", ONE)) == [
        "all: the interval covers one process. Use more."
    ]


def test_what_some_rows_share_in_other_numbers_has_one_of_them_as_its_example():
    wider = Doubt(code="spread", text="the samples spread by 90 %")

    found = lines(reading("a", SPREAD), reading("b", wider), reading("c"))

    assert found == ["2 of 3, for example net@a: the samples spread by 20 %. Sample longer."]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_there_are_never_more_lines_than_rows_but_for_the_smallest_tables(count):
    found = lines(*(reading(str(n), LOAD, SPREAD, ONE, MISSED) for n in range(count)))

    assert len(found) <= max(MIN_LINES, count)
    if count < 4:
        assert found[-1] == "2 more: assay show 20261115-101500-k3fq/001"


def test_how_a_case_ended_comes_first():
    found = lines(reading("a", LOAD), reading("b", reason="no such file"))

    assert found == [
        "net@b: failed: no such file",
        "other programs kept 1.4 cores busy. Close them.",
    ]
