"""An explanation → tables: what changed in numbers, and what else did."""

from __future__ import annotations

import msgspec

from assay.commands.ab.view import change
from assay.core.changes import Changed, Explanation, MetricChange
from assay.core.findings import Output, Table
from assay.core.units import human

MAIN = ("step_time", "throughput", "wall_time", "first_step", "open_time", "accuracy")


def output(found: Explanation) -> Output:
    tables = [_metrics_table(found), _reasons(found)]
    if found.operations:
        tables.append(_operations_table(found))
    return Output(tables=tuple(tables), document=msgspec.to_builtins(found))


def _metrics_table(found: Explanation) -> Table:
    shown = sorted(found.metrics, key=_rank)
    return Table(
        title=f"{found.after} after {found.before}",
        columns=("metric", "before", "after", "change", ""),
        rows=tuple(
            (
                one.metric,
                human(one.before, one.unit),
                human(one.after, one.unit),
                change(one.ratio),
                "differs" if one.apart else "within the intervals",
            )
            for one in shown
        ),
        numeric=frozenset({"before", "after", "change"}),
    )


def _reasons(found: Explanation) -> Table:
    known = sum(bool(one.why) for one in found.changed)
    return Table(
        title=f"{len(found.changed)} differences, {known} of a kind that is known to matter",
        columns=("what", "before", "after", "known to matter", "what would prove it"),
        rows=tuple(
            (_name(one), one.before or "—", one.after or "—", one.why, one.proof)
            for one in found.changed
        ),
        spare=("what would prove it",),
        notes=(*_proof(found), *found.notes),
    )


def _operations_table(found: Explanation) -> Table:
    return Table(
        title="Operations that changed most, seconds of a step",
        columns=("operation", "before", "after"),
        rows=tuple(
            (one.name, human(one.before, "s"), human(one.after, "s")) for one in found.operations
        ),
        numeric=frozenset({"before", "after"}),
        shortened=frozenset({"operation"}),
    )


def _proof(found: Explanation) -> list[str]:
    best = next((one for one in found.changed if one.why and one.proof), None)
    return [f"the likeliest is {_name(best)}; to prove it: {best.proof}"] if best else []


def _rank(one: MetricChange) -> tuple[int, str]:
    return (MAIN.index(one.metric) if one.metric in MAIN else len(MAIN), one.metric)


def _name(one: Changed) -> str:
    return one.what if one.what == one.kind else f"{one.kind} {one.what}"
