"""One case on several numbers of devices, by the framework's own data parallelism."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec

from assay.core.case_text import CaseLike
from assay.core.errors import UsageError
from assay.core.findings import Quantity, SummarizedResult
from assay.core.options import (
    Communication,
    Flag,
    Label,
    Seconds,
    Share,
    StoreUrl,
    Tags,
    Trust,
    accept_old_keywords,
)
from assay.core.progress import ProgressCallback, ignore
from assay.core.records import Case, Plan, Procedure, Query
from assay.core.settings import Home
from assay.measure import inputs as forms
from assay.measure import plan as planning
from assay.measure.machine.environment import safe_tags
from assay.measure.recorder import run_cases
from assay.stores.read import read_results

DEVICES = (1, 2, 4)


@accept_old_keywords(home="store")
def scale(
    case: CaseLike,
    devices: Sequence[int] = DEVICES,
    strong: Annotated[
        bool, Flag("Share one batch by all devices; else each has a batch of its own.")
    ] = False,
    budget: Annotated[Seconds, Flag("Sampling time per case.")] = "10s",
    timeout: Annotated[Seconds, Flag("Limit for one case, start-up included.")] = "10m",
    processes: Annotated[int, Flag("Fresh starts per case.")] = 1,
    communication: Communication = False,
    trust: Trust = False,
    label: Label = "",
    tags: Tags = None,
    target: Share = "1%",
    samples: int = 0,
    steps_per_sample: int = 0,
    latency: bool = False,
    cold: bool = False,
    procedure: Procedure | None = None,
    store: StoreUrl = None,
    progress: ProgressCallback = ignore,
) -> tuple[ScalePoint, ...]:
    """Train on each number of devices; throughput of all and of each, and efficiency.

    Each device has the case's batch; with `strong`, all together have it. How each case is
    measured is a `procedure`, or its parts.

    >>> for point in assay.scale("resnet50@jax", devices=(1, 2)):
    ...     print(point.devices, point.throughput, point.efficiency)
    """
    parts: dict[str, Any] = {
        "budget": budget,
        "target": target,
        "timeout": timeout,
        "processes": processes,
        "samples": samples,
        "steps_per_sample": steps_per_sample,
        "latency": latency,
        "cold": cold,
        "communication": communication,
    }
    procedure = forms.procedure(procedure, parts)
    plan = make_scale_plan(case, devices, strong, procedure, trust, label, tags)
    return scaling_points(list(run_cases(plan, store, progress)))


def make_scale_plan(
    case: CaseLike,
    devices: Sequence[int] = DEVICES,
    strong: bool = False,
    procedure: Procedure | None = None,
    trust: bool = False,
    label: str = "",
    tags: Mapping[str, str] | None = None,
) -> Plan:
    """What `scale` is going to measure, checked."""
    if not devices or min(devices) < 1 or len(set(devices)) < len(devices):
        raise UsageError(
            f"devices is {list(devices)}, but has to be some numbers, each once, 1 or more.",
            hint="As in --devices 1,2,4",
        )
    base = planning.as_case(case, trust)
    if base.backend == "?" or "devices" in base.options:
        raise UsageError(
            "scale takes one case with its backend, and the devices beside it.",
            hint="As in: assay scale resnet50@torch --devices 1,2",
        )
    return Plan(
        cases=tuple(_on_devices(base, count, strong) for count in devices),
        procedure=forms.procedure(procedure, {}),
        label=label,
        tags={**safe_tags(dict(tags or {})), "scaling": "strong" if strong else "weak"},
        verb="scale",
    )


def _on_devices(case: Case, devices: int, strong: bool) -> Case:
    resolved = planning.resolve(case)
    rows = resolved.params.get("batch_size")
    scaled = {} if strong or not isinstance(rows, int) else {"batch_size": rows * devices}
    if "devices" not in resolved.options:
        raise UsageError(
            f"{case.backend} runs on one device.",
            hint="Several share a training on jax, torch, tensorflow, keras-jax, keras-tensorflow.",
        )
    return planning.resolve(
        msgspec.structs.replace(
            case,
            params={**case.params, **scaled},
            options={**case.options, "devices": devices},
            key="",
        )
    )


def load_scaling(run: str, home: Home = None) -> list[SummarizedResult]:
    """All results of a run of `scale`, so far."""
    readings = read_results(Query(ids=(run,)), home)
    return [reading for reading in readings if reading.result.status != "interrupted"]


def scaling_points(readings: Sequence[SummarizedResult]) -> tuple[ScalePoint, ...]:

    return scaling(readings)


def scaling(readings: Sequence[SummarizedResult]) -> tuple[ScalePoint, ...]:
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
    reach = math.hypot(_reach_devices(alone), _reach_devices(together)) if devices > 1 else 0.0
    return Quantity(
        value=value,
        low=value * math.exp(-reach),
        high=value * math.exp(reach),
        unit="",
        estimator=f"ratio of throughput to {devices} times that of one device",
        n=min(alone.n, together.n),
    )


def _reach_devices(quantity: Quantity) -> float:
    return math.log(quantity.high / quantity.low) / 2 if quantity.low > 0 else math.nan


def _point(reading: SummarizedResult) -> ScalePoint:
    result = reading.result
    devices = int(result.case.options.get("devices", 1))
    throughput = reading.summary.quantities.get("throughput")
    return ScalePoint(
        devices=devices,
        result=result.id,
        status=result.status,
        items=result.items,
        throughput=throughput,
        per_device=throughput.value / devices if throughput else 0.0,
        communication=reading.summary.quantities.get("communication_share"),
    )


class ScalePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One number of devices: what it gives, and how much of what they could give together."""

    devices: int
    result: str  # its id
    status: str
    items: int = 0  # of one step, on all devices together
    throughput: Quantity | None = None  # of all devices; None: nothing was measured
    per_device: float = 0.0  # items/s
    efficiency: Quantity | None = None  # throughput over that of as many single devices
    communication: Quantity | None = None  # of a step, in percent; None: not asked for, or not told
