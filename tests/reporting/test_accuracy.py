"""The table of accuracies says what came out, what was expected, and what is missing."""

from __future__ import annotations

from assay.commands.list.view import index_table, results_output
from assay.core.findings import SummarizedResult
from assay.core.records import Case, Procedure, Result, Samples
from assay.reporting.accuracy import accuracy_table, are_evaluations, status_text
from assay.reporting.detail import detail
from assay.stats.summary import summarize


def reading(key: str, status: str = "ok", reason: str = "", **counts: float) -> SummarizedResult:
    workload, _, backend = key.partition("@")
    samples = tuple(
        Samples(metric=name, unit="items", phase="steady", values=(value,))
        for name, value in counts.items()
    )
    result = Result(
        id="run/001",
        case=Case(workload=workload, backend=backend.partition(":")[0], key=key),
        procedure=Procedure(),
        status=status,
        reason=reason,
        samples=samples,
        facts={"expected_accuracy": 90.0, "tolerance": 0.05, "expectation": "at least"},
    )
    return SummarizedResult(result=result, summary=summarize(result))


def test_a_row_has_accuracy_interval_expected_and_verdict():
    table = accuracy_table([reading("net@torch:mode=infer", evaluated=5000, correct=4000)])

    assert table.columns == (
        *("net", "backend", "accuracy", "95 % interval", "images", "expected", "verdict"),
    )
    assert table.rows == (("net", "torch", "80.00 %", "78.87 – 81.09", "5000", "≥ 90.00", "fail"),)


def test_options_are_shown_but_not_that_it_inferred():
    keys = ("n@torch:mode=infer,precision=bfloat16", "n@keras:compiler=off,mode=infer", "n@jax")
    table = accuracy_table([reading(key, evaluated=10, correct=9) for key in keys])

    assert [row[1] for row in table.rows] == [
        *("torch:precision=bfloat16", "keras:compiler=off", "jax"),
    ]


def test_what_is_missing_is_said_once_for_all_backends():
    missing = [reading(f"net@{name}", "skipped", "net has no weights") for name in ("a", "b")]
    table = accuracy_table(missing)

    assert [row[-1] for row in table.rows] == ["skipped", "skipped"]
    assert table.notes == ("net has no weights",)


def test_the_best_five_have_a_column_where_they_were_counted():
    table = accuracy_table([reading("n@a", evaluated=10, correct=5, top5_correct=9)])

    assert table.rows[0][table.columns.index("top 5")] == "90.00 %"


def test_a_result_of_speed_is_no_evaluation():
    timed = Result(
        id="run/002",
        case=Case(workload="net", backend="torch"),
        procedure=Procedure(),
        status="ok",
        samples=(Samples(metric="step_time", unit="s", phase="steady", values=(0.1, 0.2)),),
    )

    assert not are_evaluations([SummarizedResult(result=timed, summary=summarize(timed))])
    assert not are_evaluations([])


def test_a_failed_check_stands_beside_how_a_result_ended():
    failed = reading("net@torch", evaluated=5000, correct=4000)

    assert status_text(failed) == "ok, accuracy check: fail (80.00 % < 90.00 %)"
    assert status_text(reading("net@torch", evaluated=5000, correct=4900)) == "ok"
    assert status_text(failed) in detail(failed).splitlines()[0]


def test_the_index_shows_what_each_result_is_about():
    readings = [
        reading("net@torch", evaluated=5000, correct=4000),
        reading("sleep@command", wall_time=2.0),
        reading("net@jax", "skipped"),
    ]
    rows = index_table(readings).rows
    bare = results_output(readings).values.rows

    assert [row[3:5] for row in rows] == [
        ("accuracy", "80 %"),
        ("wall time", "2.00 items"),
        ("", ""),
    ]
    assert [row[3:6] for row in bare][:2] == [
        ("accuracy", "80.0", "%"),
        ("wall_time", "2.0", "items"),
    ]
    assert rows[0][5] == status_text(readings[0])
