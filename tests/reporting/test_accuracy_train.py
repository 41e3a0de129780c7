"""The table of trainings."""

from __future__ import annotations

from assay.core.findings import SummarizedResult
from assay.reporting.accuracy import are_trainings, trainings_table
from assay.stats.summary import summarize
from tests.stats.test_summary_train import trained as result_of


def reading(**facts):
    import msgspec

    result = result_of([10.0, 2.0, 3.0], [50, 61, 70], expected=60)
    result = msgspec.structs.replace(result, facts={**result.facts, **facts})
    return SummarizedResult(result=result, summary=summarize(result))


def test_a_row_tells_epochs_and_times():
    table = trainings_table([reading(recipe="{}")])

    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert (row["epochs"], row["training"], row["to the expected"]) == ("3", "15.0 s", "12.0 s")


def test_only_what_was_trained_is_shown_as_trainings():
    assert are_trainings([reading(recipe="{}")])
    assert not are_trainings([reading(recipe="{}"), reading()])
    assert not are_trainings([])
