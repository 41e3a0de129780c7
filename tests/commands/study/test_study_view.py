"""A study's tables: a row for each framework and layout, a table for each variant."""

from __future__ import annotations

from assay.commands.study.view import study_tables
from assay.core.contracts import Study, Variant
from assay.core.findings import Mismatch, Quantity, SummarizedResult, Summary
from assay.core.records import Case, Environment, Procedure, Result
from assay.stats.roofline import Floor

STUDY = Study(
    summary="",
    workload="net",
    sizes={"full": {}},
    rows=("layout", ("last", "first")),
    columns=("compiler", ("off", "on")),
    variants=(
        Variant(title="plain"),
        Variant(title="norm", params={"bn": "on"}, extra="bn"),
        Variant(title="fused norm", params={"bn": "on", "fused": True}, extra="bn"),
    ),
)
FLOOR = Floor(multiply_adds=1e9, items=16, passes=3, flops=9.6e10, peak=1e12, seconds=0.096)


def reading(layout, compiler, seconds=0.0, backend="one", status="ok", reason="", **params):
    step = Quantity(
        value=seconds, low=0.9 * seconds, high=1.1 * seconds, unit="s", estimator="", n=9
    )
    case = Case(
        workload="net",
        backend=backend,
        params={"bn": "off", "fused": False} | params,
        options={"layout": layout, "compiler": compiler},
        key=f"net@{backend}:{layout},{compiler}",
    )
    result = Result(
        id="r/001",
        case=case,
        procedure=Procedure(),
        status=status,
        reason=reason,
        started="2026-01-02T03:04",
        facts={"device": "cpu"} if seconds else {},
        environment=Environment(machine={"cpu": "some"}, packages={"torch": "2", "other": "3"}),
    )
    return SummarizedResult(
        result=result, summary=Summary(quantities={"step_time": step} if seconds else {})
    )


def test_a_row_has_each_column_with_its_interval_and_what_the_column_bought():
    (table,) = study_tables(STUDY, [reading("last", "off", 0.4), reading("last", "on", 0.2)], FLOOR)

    assert table.columns == (
        *("framework", "layout", "compiler off", "compiler on"),
        *("on / off", "best / floor"),
    )
    assert table.rows == (
        ("one", "last", "400 ms [360 ms, 440 ms]", "200 ms [180 ms, 220 ms]", "0.50", "2.1"),
    )


def test_each_variant_has_a_table_of_its_own():
    tables = study_tables(
        STUDY,
        [
            reading("last", "off", 1.0),
            reading("last", "off", 2.0, bn="on"),
            reading("last", "off", 3.0, bn="on", fused=True),
        ],
    )

    assert [table.title.split(":")[0] for table in tables] == [
        "net, plain",
        "net, norm",
        "net, fused norm",
    ]
    assert [table.rows[0][2][:6] for table in tables] == ["1.00 s", "2.00 s", "3.00 s"]


def test_what_was_not_measured_is_said_once_with_its_reason():
    (table,) = study_tables(
        STUDY,
        [
            reading("last", "off", status="skipped", reason="it is not installed"),
            reading("last", "on", status="skipped", reason="it is not installed"),
            reading("last", "on", status="crashed", reason="lost", backend="two"),
        ],
    )

    assert table.rows[0][2:4] == ("not measured", "not measured")
    assert table.rows[1][3] == "crashed"
    assert table.notes[:2] == (
        "one: not measured: it is not installed",
        "net@two:last,on: crashed: lost",
    )


def test_the_floor_is_told_with_its_arithmetic():
    (table,) = study_tables(STUDY, [reading("last", "off", 0.4)], FLOOR)

    assert table.notes[0] == (
        "floor by arithmetic: 1.00 G multiply-adds × 16 items × 3 passes × 2 = 96.0 GFLOP a step, "
        "96.0 ms at the measured peak of 1.00 TFLOP/s"
    )


def test_a_peak_that_was_not_measured_is_said():
    unknown = Floor(multiply_adds=1e9, items=16, passes=3, flops=9.6e10)
    (table,) = study_tables(STUDY, [reading("last", "off", 0.4)], unknown)

    assert "run assay doctor first" in table.notes[0]
    assert table.rows[0][-1] == ""


def test_unfairness_and_the_machine_stand_below():
    unlike = [Mismatch(workload="net", what="tf32", text="TF32 differs", unfair=True)]
    (table,) = study_tables(STUDY, [reading("last", "off", 0.4)], None, unlike)

    assert table.notes == (
        "UNFAIR: net: TF32 differs",
        "measured 2026-01-02 on cpu some, torch 2; a case of it: net@one:last,off",
    )
