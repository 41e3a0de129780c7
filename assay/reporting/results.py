"""Results of any command as an Output: table, JSON document, values for CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from assay.core.findings import Mismatch, Output, Quantity, Ranking, SummarizedResult, Table
from assay.core.records import SCHEMA, Result
from assay.core.units import human
from assay.reporting import accuracy, detail, timings


def output(
    readings: Sequence[SummarizedResult],
    mismatches: Sequence[Mismatch] = (),
    columns: Sequence[str] = (),
    detailed: bool = False,
    raw: bool = False,
    ranking: Ranking | None = None,
) -> Output:
    """`detailed`: a page for a single result. `raw`: with all samples."""
    return Output(
        tables=(
            table(readings, mismatches, columns, ranking),
            *timings.generation_tables(readings),
        ),
        page=detail.detail(readings[0]) if detailed and len(readings) == 1 and not columns else "",
        document=results_document(readings, mismatches, raw),
        values=results_values(readings),
    )


def table(
    readings: Sequence[SummarizedResult],
    mismatches: Sequence[Mismatch] = (),
    columns: Sequence[str] = (),
    ranking: Ranking | None = None,
) -> Table:
    """The table that fits all results, or the one with the chosen columns."""
    if columns:
        return timings.results_table(
            readings, mismatches=mismatches, columns=columns, ranking=ranking
        )
    if accuracy.are_trainings(readings):
        return accuracy.trainings_table(readings)
    if accuracy.are_evaluations(readings):
        return accuracy.accuracy_table(readings)
    if is_self_timed(readings):
        return reported_table(readings)
    return timings.results_table(readings, mismatches=mismatches, ranking=ranking)


def results_document(
    readings: Sequence[SummarizedResult], mismatches: Sequence[Mismatch] = (), raw: bool = False
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "kind": "results",
        "results": [_result(reading, raw) for reading in readings],
        "fairness": msgspec.to_builtins(mismatches),
    }


def results_values(readings: Sequence[SummarizedResult]) -> Table:
    """SI numbers for a spreadsheet: a row per quantity and peak of each result."""
    own = ("id", "started", "case", "workload", "backend", "batch_size", "params", "options")
    return Table(
        columns=(*own, "label", "status", "metric", "value", "low", "high", "unit", "n"),
        rows=tuple(
            (*_case_cells(r.result), name, *numbers)
            for r in readings
            for name, numbers in _values(r)
        ),
    )


def _case_cells(result: Result) -> tuple[str, ...]:
    case = result.case
    return (
        *(result.id, result.started, case.key, case.workload, case.backend),
        str(case.params.get("batch_size", "")),
        *(" ".join(f"{k}={v}" for k, v in d.items()) for d in (case.params, case.options)),
        *(result.label, result.status),
    )


def _values(reading: SummarizedResult) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, q in reading.summary.quantities.items():
        yield name, (repr(q.value), repr(q.low), repr(q.high), q.unit, str(q.n))
    for name, peak in reading.result.peaks.items():
        yield name, (repr(peak), "", "", "", "")


def _result(reading: SummarizedResult, raw: bool) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(reading.result)
    fields = ("id", "status", "reason", "started", "seconds", "case", "procedure", "items", "facts")
    return {
        **{name: plain[name] for name in fields},
        "phases": plain["phases"],
        "summary": msgspec.to_builtins(reading.summary.quantities),
        "checks": msgspec.to_builtins(reading.summary.checks),
        "doubts": msgspec.to_builtins(reading.summary.doubts),
        "peaks": plain["peaks"],
        "environment": plain["environment"],
        "workload_version": plain["workload_version"],
        "label": plain["label"],
        "tags": plain["tags"],
        **({"samples": plain["samples"]} if raw else {}),
    }


def is_self_timed(readings: Sequence[SummarizedResult]) -> bool:
    """Whether all are results of self-timed sessions, without timed steps."""
    steady = [part.metric for r in readings for part in r.result.samples if part.phase == "steady"]
    return bool(steady) and not any(r.result.measured_only().values("step_time") for r in readings)


def reported_table(readings: Sequence[SummarizedResult]) -> Table:
    """One row per metric of a result."""
    return Table(
        columns=("id", "case", "metric", "median", "values", "status"),
        rows=tuple(
            (
                *(r.result.id, r.result.case.key, name),
                *(human(q.value, q.unit) if q else "", str(q.n) if q else "", r.result.status),
            )
            for r in readings
            for name, q in _reported_quantities(r)
        ),
        numeric=frozenset({"median", "values"}),
        notes=tuple(dict.fromkeys(note for r in readings for note in status_notes(r.result))),
    )


def _reported_quantities(reading: SummarizedResult) -> list[tuple[str, Quantity | None]]:
    metrics = {part.metric for part in reading.result.samples if part.phase == "steady"}
    quantities = {name: q for name, q in reading.summary.quantities.items() if name in metrics}
    return list(quantities.items()) or [("", None)]


def status_notes(result: Result) -> list[str]:
    why = [f"{result.case.key}: {result.status}: {result.reason}"] if result.reason else []
    note = result.facts.get("note")
    return why + ([f"{result.case.key}: {note}"] if note else [])
