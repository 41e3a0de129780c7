"""Text: a row for each prompt and batch, with what its times are over."""

from __future__ import annotations

import msgspec

from assay.core.findings import SummarizedResult
from assay.core.records import Case
from assay.reporting.results import output
from assay.reporting.timings import generation_tables
from assay.stats.summary import summarize
from tests.stats.test_generation import generated
from tests.stats.test_summary import noisy, result, steady


def reading(prompt: int, batch: int, backend: str = "jax", **facts: object) -> SummarizedResult:
    made = generated(100, prompt=prompt, batch_size=batch, **facts)
    key = f"transformer-decoder:batch_size={batch},size=base,prompt={prompt}@{backend}:compiler=on"
    case = Case(workload="transformer-decoder", backend=backend, key=key)
    made = msgspec.structs.replace(made, case=case)
    return SummarizedResult(result=made, summary=summarize(made))


def test_rows_stand_in_the_order_of_prompt_and_batch():
    readings = [reading(512, 1), reading(32, 8), reading(32, 1)]

    (table,) = generation_tables(readings)

    sizes = [row[1:3] for row in table.rows]
    assert sizes == [("32", "1"), ("32", "8"), ("512", "1")]
    assert {row[0] for row in table.rows} == {"transformer-decoder:size=base@jax:compiler=on"}
    assert table.rows[0][table.columns.index("per token")] == "4.00 ms"
    assert "decode bandwidth" in table.columns


def test_it_says_whose_times_are_over_tokens_and_whose_over_requests():
    one, other = reading(32, 1, "torch"), reading(32, 1, "jax", timed_over="requests")

    (table,) = generation_tables([one, other])

    assert any("torch: the host sees every token" in note for note in table.notes)
    assert any("jax: one loop generates all tokens" in note for note in table.notes)


def test_without_text_there_is_no_such_table():
    plain = result(steady(noisy()))

    assert len(output([SummarizedResult(result=plain, summary=summarize(plain))]).tables) == 1
