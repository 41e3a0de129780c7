"""A run of a plan → its output and the text of its alert; all runs → a table."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.commands.check import view
from assay.commands.schedule.run_log import PlanRun, PlanRunLine
from assay.core.findings import Output, SummarizedResult, Table
from assay.core.records import SCHEMA
from assay.reporting import results
from assay.stats.fairness.checks import fairness
from assay.stats.winner import rank


def output(night: PlanRun, readings: Sequence[SummarizedResult]) -> Output:
    """Results, checks, findings."""
    mismatches = fairness(reading.result for reading in readings)
    ranking = rank(readings, mismatches)
    tables = [results.table(readings, mismatches, ranking=ranking)] if readings else []
    if night.checked:
        tables.append(view.check_table(night.checked))
    tables.append(
        Table(
            title=headline(night),
            columns=("finding",),
            rows=tuple((text,) for text in night.findings),
            notes=(*(upload.line for upload in night.uploads), *night.alerts),
        )
    )
    return Output(tables=tuple(tables), document=msgspec.to_builtins(night))


def headline(night: PlanRun) -> str:
    bad = len(night.findings)
    ended = f"{len(night.results)} results"
    what = f"{bad} finding{'s' if bad > 1 else ''}" if bad else "nothing went wrong"
    return f"plan {night.plan} of {night.started}: {ended}, {what}"


def alert_text(night: PlanRun) -> str:
    """For a chat or a mail: what went wrong first, then what the check says."""
    lines = [f"assay: {headline(night)}", *night.findings[:20]]
    if night.checked:
        lines += view.alert_text(night.checked).splitlines()
    return "\n".join(lines)


def runs_output(name: str, nights: Sequence[PlanRunLine]) -> Output:
    rows = tuple(
        (night.started, night.ended or "never", str(night.status), " ".join(night.runs), text)
        for night in nights
        for text in (night.findings or ("",))
    )
    document = {
        "schema": SCHEMA,
        "kind": "nights",
        "plan": name,
        "nights": [msgspec.to_builtins(night) for night in nights],
    }
    columns = ("started", "ended", "status", "runs", "finding")
    return Output(
        tables=(Table(title=f"plan {name}", columns=columns, rows=rows),), document=document
    )
