"""Results on several numbers of devices → how much of their speed together is left."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from assay.core.findings import Quantity, Reading, ScalePoint


def scaling(readings: Sequence[Reading]) -> tuple[ScalePoint, ...]:
    """By number of devices; efficiency is against one device, where that was measured too."""
    points = sorted((_point(reading) for reading in readings), key=lambda point: point.devices)
    alone = next((point.throughput for point in points if point.devices == 1), None)
    if alone is None:
        return tuple(points)
    return tuple(
        msgspec.structs.replace(
            point, efficiency=efficiency(alone, point.throughput, point.devices)
        )
        if point.throughput
        else point
        for point in points
    )


def efficiency(alone: Quantity, together: Quantity, devices: int) -> Quantity:
    """The share of `devices` times the speed of one; the two intervals are independent, so their
    half-widths, as logarithms, add up by squares."""
    value = together.value / (devices * alone.value)
    reach = math.hypot(_reach(alone), _reach(together)) if devices > 1 else 0.0
    return Quantity(
        value=value,
        low=value * math.exp(-reach),
        high=value * math.exp(reach),
        unit="",
        estimator=f"ratio of throughput to {devices} times that of one device",
        n=min(alone.n, together.n),
    )


def _reach(quantity: Quantity) -> float:
    return math.log(quantity.high / quantity.low) / 2 if quantity.low > 0 else math.nan


def _point(reading: Reading) -> ScalePoint:
    result = reading.result
    devices = int(result.case.options.get("devices", 1))
    found = reading.summary.quantities.get("throughput")
    return ScalePoint(
        devices=devices,
        result=result.id,
        status=result.status,
        items=result.items,
        throughput=found,
        per_device=found.value / devices if found else 0.0,
        communication=reading.summary.quantities.get("communication_share"),
    )
