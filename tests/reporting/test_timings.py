"""The table of a run: who is fastest, which columns there are, what each row is called."""

from __future__ import annotations

import shlex

import msgspec
import pytest

from assay.core.errors import UsageError
from assay.core.findings import Doubt, Mismatch, Quantity, SummarizedResult, Summary
from assay.core.records import Case, Procedure, Result
from assay.reporting.output.text import table_text
from assay.reporting.timings import COLUMNS, results_table
from assay.stats.fairness.checks import differences
from assay.stats.winner import rank

PEAKS = {"max_rss": 300 * 2**20}


def reading(case: str, rate: float, share: float = 0.01, peaks=PEAKS, **fields) -> SummarizedResult:
    """A result of so many items per second; its interval has this half-width."""
    quantities = {
        "step_time": quantity(1 / rate, share, "s"),
        "throughput": quantity(rate, share, "items/s"),
    }
    values = {
        "id": f"20261115-101500-k3fq/{int(rate):03}",
        "procedure": Procedure(),
        "status": "ok",
    }
    result = Result(case=as_case(case), peaks=peaks, **(values | fields))
    return SummarizedResult(result=result, summary=Summary(quantities=quantities))


def ranked_table(readings, mismatches=()):
    return results_table(readings, mismatches=mismatches, ranking=rank(readings, mismatches))


def quantity(value: float, share: float, unit: str) -> Quantity:
    low, high = value * (1 - share), value * (1 + share)
    return Quantity(value=value, low=low, high=high, unit=unit, estimator="median", n=30)


def as_case(key: str, **options) -> Case:
    workload, _, backend = key.partition("@")
    name, _, given = workload.partition(":")
    params = dict(pair.split("=") for pair in given.split(",") if pair)
    return Case(workload=name, backend=backend, params=params, options=options, key=key)


def column(table, name: str) -> list[str]:
    return [row[table.columns.index(name)] for row in table.rows]


def test_the_fastest_is_named_and_the_others_are_a_share_of_it():
    table = ranked_table([reading("net@jax", 100), reading("net@torch", 200)])

    assert column(table, "speed / fastest") == ["0.50 x", "1.00 x"]
    assert table.notes[0] == "fastest: net@torch, 2.00 times the next (net@jax)"


def test_other_options_than_the_fastest_are_noted_first_and_marked():
    off, on = (
        msgspec.structs.replace(
            each,
            result=msgspec.structs.replace(
                each.result,
                case=as_case(f"net@{backend}", compiler=compiler, mode=mode),
                facts={"mode": "train"},
            ),
        )
        for each, backend, compiler, mode in (
            (reading("net@torch", 7), "torch", "off", "a"),
            (reading("net@jax", 100), "jax", "on", "b"),
        )
    )

    table = ranked_table([off, on], mismatches=differences([off.result, on.result]))

    assert column(table, "speed / fastest") == ["0.07 x*", "1.00 x"]
    assert table.notes[0] == "* net: options differ: compiler off (torch), on (jax)"
    assert table.notes[1].startswith("fastest: net@jax")


def test_a_contender_with_wrong_outputs_has_no_rank_and_is_not_the_fastest():
    readings = [
        reading(f"net@{name}", rate, id=name)
        for name, rate in (("native", 400), ("torch", 200), ("jax", 100))
    ]
    wrong = Mismatch(
        workload="net", what="outputs", text="they differ", unfair=True, wrong={"native": 0.25}
    )

    table = ranked_table(readings, mismatches=[wrong])

    assert column(table, "speed / fastest") == ["outputs differ by 0.25", "1.00 x", "0.50 x"]
    assert table.notes[1] == "fastest: net@torch, 2.00 times the next (net@jax)"


def test_beside_a_contender_with_wrong_outputs_alone_nobody_is_the_fastest():
    readings = [reading("net@native", 400, id="n"), reading("net@torch", 200, id="t")]
    wrong = Mismatch(workload="net", what="outputs", text="", unfair=True, wrong={"n": 0.25})

    table = ranked_table(readings, mismatches=[wrong])

    assert not any("fastest" in note for note in table.notes)


def test_two_that_are_close_are_shown_the_command_that_would_decide():
    table = ranked_table([reading("net@jax", 100), reading("net@torch", 110)])

    assert table.notes[0] == (
        "net@torch and net@jax cannot be distinguished with one process each; "
        "use assay ab net@jax net@torch"
    )


def test_from_fewer_than_ten_samples_nobody_is_the_fastest():
    few, many = reading("net@jax", 100), reading("net@torch", 300)
    quantities = few.summary.quantities
    quantities["throughput"] = msgspec.structs.replace(quantities["throughput"], n=2)

    note = ranked_table([few, many]).notes[0]

    assert "with one process each, from too few effective samples; use assay ab" in note


def test_the_command_can_be_pasted_into_a_shell():
    first, second = "net:text='a b',n=2@jax", "net:text='a b'@torch"
    cases = [as_case(first), as_case(second)]
    readings = [
        msgspec.structs.replace(
            reading("net@jax", rate),
            result=msgspec.structs.replace(
                reading("net@jax", rate).result,
                case=msgspec.structs.replace(case, workload="net", params={}, backend=backend),
            ),
        )
        for case, backend, rate in zip(cases, ("jax", "torch"), (101, 100), strict=True)
    ]

    note = ranked_table(readings).notes[0]

    assert shlex.split(note.partition("; use ")[2]) == ["assay", "ab", second, first]


def test_what_ab_cannot_start_gets_no_command():
    note = ranked_table([reading("net@pyperf", 100), reading("net@asv", 101)]).notes[0]

    assert note.endswith("; use assay ab")


def test_speeds_of_different_workloads_are_not_compared():
    table = results_table([reading("net@jax", 100), reading("other@jax", 200)])

    assert not any("speed" in name for name in table.columns)
    assert table.notes == ()


def test_a_swept_value_is_in_every_name_a_default_too():
    sizes = [reading("net@jax", 100), reading("net:batch_size=8@jax", 90)]
    default = msgspec.structs.replace(sizes[0].result.case, params={"batch_size": "32"})
    sizes[0] = msgspec.structs.replace(
        sizes[0], result=msgspec.structs.replace(sizes[0].result, case=default)
    )

    assert column(results_table(sizes), "case") == ["net:batch_size=32@jax", "net:batch_size=8@jax"]


def test_defaults_that_differ_by_backend_are_in_no_name():
    rows = [reading("net@jax", 100), reading("net@torch", 90)]
    layouts = ("channels_last", "channels_first")
    cases = [
        as_case(r.result.case.key, data_format=one) for r, one in zip(rows, layouts, strict=True)
    ]
    rows = [
        msgspec.structs.replace(row, result=msgspec.structs.replace(row.result, case=case))
        for row, case in zip(rows, cases, strict=True)
    ]

    assert column(results_table(rows), "case") == ["net@jax", "net@torch"]


def test_percentiles_are_columns_where_each_step_was_timed():
    latency = reading("net@jax", 100, procedure=Procedure(latency=True))

    assert {"p50", "p90", "p99"} <= set(results_table([latency]).columns)
    assert "p50" not in results_table([reading("net@jax", 100)]).columns


def test_memory_is_shown_where_there_is_room():
    table = results_table([reading("net@jax", 100), reading("net@torch", 200)])

    assert "300 MiB" in table_text(table, 120)
    assert "300 MiB" not in table_text(table, 70)


def test_columns_can_be_chosen_and_an_empty_one_is_explained():
    table = results_table([reading("net@jax", 100)], columns=["memory", "p50", "p99", "energy"])

    assert table.columns == ("case", "memory", "p50", "p99", "energy", "status")
    assert "p50, p99: measured with --latency only" in table.notes
    assert "energy: no energy counter could be read here" in table.notes


def test_an_unknown_column_lists_those_there_are():
    with pytest.raises(UsageError, match="There is no column named 'nonsense'") as caught:
        results_table([reading("net@jax", 100)], columns=["nonsense"])

    assert caught.value.hint == f"Columns: {', '.join(COLUMNS)}."


def test_there_is_no_interval_of_one_sample():
    one = reading("net@jax", 100, share=float("nan"))

    assert column(results_table([one]), "95 % interval") == [""]


def test_doubts_stand_below_the_table():
    doubted = msgspec.structs.replace(
        reading("net@jax", 100), summary=Summary(doubts=(Doubt(code="drift", text="it drifts"),))
    )

    assert results_table([doubted]).notes == ("net@jax: it drifts.",)
