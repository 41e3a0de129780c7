"""Benchmark methods → tables: each run, each metric over its trials."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.commands.bench.trials import Trials
from assay.core.findings import Output, Table
from assay.core.records import SCHEMA, Result
from assay.core.units import human
from assay.reporting.results import status_notes
from assay.reporting.timings import interval


def output(results: Sequence[Result], trials: Sequence[Trials]) -> Output:
    tables = (runs_table(results), metrics_table(trials))
    return Output(tables=tables if trials else tables[:1], document=document(results, trials))


def runs_table(results: Sequence[Result]) -> Table:
    return Table(
        columns=("benchmark", "trial", "wall time", "whole", "reports", "status"),
        rows=tuple(_run(result) for result in results),
        numeric=frozenset({"trial", "wall time", "whole", "reports"}),
        notes=tuple(dict.fromkeys(note for result in results for note in status_notes(result))),
    )


def metrics_table(trials: Iterable[Trials]) -> Table:
    return Table(
        columns=("benchmark", "metric", "median", "95 % interval", "trials", "outliers"),
        rows=tuple(
            (
                trial.key,
                trial.metric,
                human(trial.quantity.value, trial.quantity.unit),
                interval(trial.quantity) if trial.quantity.n > 1 else "",
                str(trial.quantity.n),
                ", ".join(f"#{number}" for number in trial.outliers),
            )
            for trial in trials
        ),
        numeric=frozenset({"median", "95 % interval", "trials"}),
    )


def _run(result: Result) -> tuple[str, ...]:
    wall = result.values("wall_time")
    return (
        result.case.key,
        str(result.facts.get("trial", "")),
        human(wall[0], "s") if wall else "",
        human(result.seconds, "s"),
        str(result.facts.get("reports", "")),
        result.status,
    )


def document(results: Sequence[Result], trials: Iterable[Trials]) -> dict[str, object]:
    """For `--format json`: every run, whole, and each metric over its trials."""
    return {
        "schema": SCHEMA,
        "kind": "benchmarks",
        "results": list(results),
        "metrics": list(trials),
    }
