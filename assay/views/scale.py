"""Training on several numbers of devices → a table, and its JSON document."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.core.findings import Output, Quantity, Reading, ScalePoint, Table
from assay.core.records import SCHEMA
from assay.core.units import human
from assay.views.notes import notes

COLUMNS = ("devices", "items a step", "throughput", "per device", "efficiency", "95 % interval")


def output(points: Sequence[ScalePoint], readings: Sequence[Reading]) -> Output:
    ordered = sorted(readings, key=lambda one: [p.result for p in points].index(one.result.id))
    names = [f"{point.devices} devices" for point in points]
    return Output(
        tables=(
            Table(
                columns=(*COLUMNS, "status"),
                rows=tuple(_row(point) for point in points),
                numeric=frozenset(COLUMNS),
                notes=tuple(notes(ordered, names)),
            ),
        ),
        document={
            "schema": SCHEMA,
            "kind": "scaling",
            "points": msgspec.to_builtins(tuple(points)),
        },
    )


def _row(point: ScalePoint) -> tuple[str, ...]:
    found = point.throughput
    return (
        str(point.devices),
        str(point.items or ""),
        human(found.value, "items/s") if found else "",
        human(point.per_device, "items/s") if found else "",
        f"{point.efficiency.value:.1%}" if point.efficiency else "",
        _interval(point.efficiency, point.devices),
        point.status,
    )


def _interval(efficiency: Quantity | None, devices: int) -> str:
    if efficiency is None or devices == 1:
        return ""
    return f"[{efficiency.low:.1%}, {efficiency.high:.1%}]"
