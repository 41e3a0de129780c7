"""A profile → its table of operations, its JSON document, and how to open its trace."""

from __future__ import annotations

import shlex
from typing import Any

import msgspec

from assay.core.findings import Operation, Output, Profile, Table
from assay.core.records import SCHEMA
from assay.core.units import human

COLUMNS = ("operation", "time", "share", "count", "where", "what of the model")


def output(profile: Profile, top: int) -> Output:
    tables = (operations_table(profile, top),) if profile.operations else ()
    return Output(tables=tables, document=document(profile, top))


def operations_table(profile: Profile, top: int) -> Table:
    """The operations that took longest; times are over all profiled steps."""
    found, shown = profile.operations, profile.operations[:top]
    width = len(COLUMNS) if any(one.source for one in shown) else len(COLUMNS) - 1
    notes = list(profile.notes)
    if len(found) > len(shown):
        left = sum(one.share for one in found[len(shown) :])
        notes.append(f"{len(found) - len(shown)} more operations took {left:.1%} together")
    return Table(
        columns=COLUMNS[:width],
        rows=tuple(_row(one)[:width] for one in shown),
        numeric=frozenset({"time", "share", "count"}),
        shortened=frozenset(
            {"operation", "what of the model"}
        ),  # of kernels, some have 600 letters
        notes=tuple(notes),
    )


def document(profile: Profile, top: int) -> dict[str, Any]:
    result = profile.result
    return {
        "schema": SCHEMA,
        "kind": "profile",
        **{name: getattr(result, name) for name in ("id", "status", "reason", "started")},
        "case": msgspec.to_builtins(result.case),
        "step_times": result.values("profiled_step_time"),
        **{name: getattr(profile, name) for name in ("folder", "trace", "plugin", "notes")},
        "operations": msgspec.to_builtins(profile.operations[:top]),
    }


def how_to_open(profile: Profile) -> list[str]:
    if not profile.trace:
        return []
    return [
        f"Perfetto:     open https://ui.perfetto.dev and drop {profile.trace} there",
        f"TensorBoard:  tensorboard --logdir {shlex.quote(profile.folder)}"
        f"  (pip install tensorboard {profile.plugin})",
    ]


def _row(one: Operation) -> tuple[str, ...]:
    times = human(one.seconds, "s"), f"{one.share:.1%}", str(one.count)
    return (one.name, *times, one.place, one.source)
