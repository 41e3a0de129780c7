"""Training on several numbers of devices → a table, and its JSON document."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from assay.commands.scale.api import ScalePoint
from assay.core.findings import Output, Quantity, SummarizedResult, Table
from assay.core.records import SCHEMA
from assay.core.units import human, plural, span
from assay.reporting.warnings import notes

COLUMNS = ("devices", "items a step", "throughput", "per device", "efficiency", "95 % interval")
COMMUNICATION = "communication"


def output(points: Sequence[ScalePoint], readings: Sequence[SummarizedResult]) -> Output:
    ordered = sorted(
        readings, key=lambda reading: [p.result for p in points].index(reading.result.id)
    )
    names = [plural(point.devices, "device") for point in points]
    more = (COMMUNICATION,) if any(point.communication for point in points) else ()
    columns = (*COLUMNS, *more)
    return Output(
        tables=(
            Table(
                columns=(*columns, "status"),
                rows=tuple(_row(point, bool(more)) for point in points),
                numeric=frozenset(columns),
                notes=(*notes(ordered, names), *_unknown_note(ordered, names)),
            ),
        ),
        document={
            "schema": SCHEMA,
            "kind": "scaling",
            "points": msgspec.to_builtins(tuple(points)),
        },
    )


def _row(point: ScalePoint, communication: bool) -> tuple[str, ...]:
    throughput = point.throughput
    return (
        str(point.devices),
        str(point.items or ""),
        human(throughput.value, "items/s") if throughput else "",
        human(point.per_device, "items/s") if throughput else "",
        f"{point.efficiency.value:.1%}" if point.efficiency else "",
        _interval(point.efficiency, point.devices),
        *((_percent(point.communication),) if communication else ()),
        point.status,
    )


def _percent(quantity: Quantity | None) -> str:
    return f"{quantity.value:.1f}%" if quantity else ""


def _unknown_note(readings: Sequence[SummarizedResult], names: Sequence[str]) -> list[str]:
    """Why a share of communication that was asked for is not there."""
    reasons = zip(
        names, (reading.result.facts.get(COMMUNICATION) for reading in readings), strict=True
    )
    return [f"{name}: communication is {why}" for name, why in reasons if why]


def _interval(efficiency: Quantity | None, devices: int) -> str:
    if efficiency is None or devices == 1:
        return ""
    return span(efficiency.low, efficiency.high, "{:.1%}".format)
