"""Visits of one case become one result over several processes."""

from __future__ import annotations

from assay.core.records import Case, Procedure, Result, Samples
from assay.stats.pooling import pool_results


def visit(key: str, value: float = 1.0, status: str = "ok", **other) -> Result:
    samples = Samples(metric="step_time", unit="s", phase="steady", values=(value, value))
    return Result(
        id="r/001",
        case=Case(workload="w", backend="b", key=key),
        procedure=Procedure(budget=2.0),
        status=status,
        samples=(samples,) if status == "ok" else (),
        **other,
    )


def test_each_visit_is_a_process():
    (found,) = pool_results([visit("a", 1.0), visit("a", 2.0), visit("a", 3.0)])

    assert [(part.process, part.values[0]) for part in found.samples] == [
        (0, 1.0),
        (1, 2.0),
        (2, 3.0),
    ]
    assert (found.procedure.processes, found.procedure.budget) == (3, 6.0)


def test_cases_stay_apart_and_in_order():
    assert [r.case.key for r in pool_results([visit("b"), visit("a"), visit("b")])] == ["b", "a"]


def test_a_failed_visit_is_left_out_where_another_went_well():
    (found,) = pool_results([visit("a"), visit("a", status="crashed", reason="lost")])

    assert (found.status, found.procedure.processes) == ("ok", 1)


def test_a_case_that_never_went_well_tells_its_last_ending():
    (found,) = pool_results(
        [visit("a", status="interrupted"), visit("a", status="failed", reason="no")]
    )

    assert (found.status, found.reason) == ("failed", "no")


def test_peaks_are_the_highest_and_a_wait_that_once_waited_is_one():
    (found,) = pool_results(
        [
            visit("a", peaks={"rss": 3.0}, facts={"unwaited": 0.4}),
            visit("a", peaks={"rss": 5.0}, facts={"unwaited": 0.0}),
        ]
    )

    assert found.peaks == {"rss": 5.0}
    assert found.facts["unwaited"] == 0.0
