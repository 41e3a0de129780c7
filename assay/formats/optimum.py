"""optimum-benchmark's JSON: for each target (load, forward, decode, …) every latency in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from assay.core.errors import UsageError
from assay.core.findings import SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Environment, Result, Samples
from assay.formats import common

KIND = "optimum"
_MEGABYTE, _KILOWATT_HOUR = 1e6, 3.6e6  # in bytes; in joules
_MEMORY = {"max_process_vram": "max_gpu_memory", "max_ram": "max_rss"}
_PARTS = ("memory", "latency", "throughput", "energy", "efficiency")
_TARGET = "target"


def matches(content: Content) -> bool:
    return bool(_targets(content.json))


def read(content: Content) -> Sequence[Result]:
    document = content.json
    config = common.table(content, document.get("config"), "config")
    return [
        _result(content, config, target, measured)
        for target, measured in _targets(document).items()
        if any(measured.get(part) for part in _PARTS)
    ]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    by_name = common.by_name(KIND, readings)
    results = [result for same in by_name.values() for result in same]
    models = {_model(result) for result in results}
    if len(models) > 1 or len({_target(result) for result in results}) < len(results):
        raise UsageError(
            f"A file of optimum-benchmark is of one model, but these are {len(results)} results.",
            hint="Export one result at a time: assay export RUN/001 --as optimum",
        )
    first = results[0]
    config = {
        "name": models.pop(),
        "backend": {"name": first.case.backend, **_config(first, "backend.")},
        "scenario": {"name": "inference", **_config(first, "scenario.")},
        "launcher": {"name": "process"},
        "environment": {
            "cpu": first.environment.machine.get("cpu", ""),
            "cpu_count": first.environment.machine.get("cpus", 0),
            "python_version": first.environment.python.get("version", ""),
        },
    }
    report = {_target(result): _measurements(result) for result in results}
    return common.as_json({"config": config, "report": report})


def _targets(document: object) -> dict[str, dict[str, Any]]:
    """Of a whole file, or of a report alone."""
    if not isinstance(document, dict):
        return {}
    report = document.get("report", document)
    targets = report if isinstance(report, dict) else {}
    valid = targets and all(
        isinstance(target, dict) and set(_PARTS[:3]) <= target.keys() for target in targets.values()
    )
    return targets if valid else {}


def _result(
    content: Content, config: dict[str, Any], target: str, measured: dict[str, Any]
) -> Result:
    backend = common.table(content, config.get("backend"), "backend")
    scenario = common.table(content, config.get("scenario"), "scenario")
    shapes = common.table(content, scenario.get("input_shapes"), "input_shapes")
    name = common.text(content, config.get("name") or backend.get("model") or "model", "name")
    here = common.table(content, config.get("environment"), "environment")
    memory = common.table(content, measured.get("memory"), "memory")
    scale = _MEGABYTE if memory.get("unit", "MB") == "MB" else 1.0
    return common.make_result(
        KIND,
        name,
        _samples(content, measured),
        params={**common.scalars(shapes), _TARGET: common.plain(target)},
        key=f"{name}/{target}",
        facts={
            **common.scalars(backend, "backend."),
            **common.scalars(scenario, "scenario.", ("input_shapes",)),
            **common.scalars(here, "environment."),
        },
        environment=Environment(
            machine=common.scalars({"cpu": here.get("cpu"), "cpus": here.get("cpu_count")}),
            python=common.scalars({"version": here.get("python_version")}),
        ),
        peaks={
            ours: scale * common.number(content, memory[theirs], theirs)
            for theirs, ours in _MEMORY.items()
            if memory.get(theirs) is not None
        },
    )


def _samples(content: Content, measured: dict[str, Any]) -> Iterator[Samples]:
    latency = common.table(content, measured.get("latency"), "latency")
    if latency:
        unit = common.per_second(content, latency.get("unit", "s"))
        values = common.numbers(content, latency.get("values"), "latency values")
        yield common.steady_samples(common.STEP, "s", (value / unit for value in values))
    energy = common.table(content, measured.get("energy"), "energy")
    if energy.get("total") is not None:
        if energy.get("unit") != "kWh":
            raise content.wrong(f"has energy in {common.plain(energy.get('unit'))!r}, not kWh")
        joules = _KILOWATT_HOUR * common.number(content, energy["total"], "energy")
        yield common.steady_samples("energy", "J", (joules,))


def _config(result: Result, prefix: str) -> dict[str, Any]:
    return common.restore_fields(result.facts, prefix)


def _model(result: Result) -> str:
    return common.name_for(KIND, result)


def _target(result: Result) -> str:
    return str(result.case.params.get(_TARGET, "forward"))


def _measurements(result: Result) -> dict[str, Any]:
    parts = common.main_parts(result)
    values = common.finite(value for part in parts for value in part.values)
    array = np.asarray(values)
    shares = {f"p{share}": float(np.percentile(array, share)) for share in (50, 90, 95, 99)}
    mean, spread = float(array.mean()), float(array.std(ddof=1)) if len(values) > 1 else 0.0
    peak = result.peaks.get("max_rss")
    memory = {"unit": "MB", "max_ram": peak / _MEGABYTE} if peak else None
    blank = ("max_global_vram", "max_process_vram", "max_reserved", "max_allocated")
    return {
        "memory": {**memory, **dict.fromkeys(blank)} if memory else None,
        "latency": {
            "unit": "s",
            "values": values,
            "count": len(values),
            "total": sum(values),
            "mean": mean,
            **shares,
            "stdev": spread,
            "stdev_": 100 * spread / mean if mean else 0.0,
        },
        "throughput": {"unit": "samples/s", "value": max(1, result.items) / mean} if mean else None,
        "energy": None,
        "efficiency": None,
    }


PROVIDES = {
    KIND: Format(
        summary="optimum-benchmark: every latency of each target of one model",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}
