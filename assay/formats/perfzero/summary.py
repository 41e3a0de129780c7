"""A benchmark method's run → PerfZero's summary, key by key.

One additional key, `benchmark_result.reports`, has all complete reports.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from assay.core.records import Value
from assay.formats.perfzero.entries import BenchmarkEntry, label_entries, main_entry
from assay.formats.perfzero.messages import BenchResult

Document = dict[str, Any]


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """Flags and set-up of a run."""

    execution_id: str
    execution_label: str | None = None
    ml_framework_build_label: str | None = None
    platform_name: str | None = None
    system_name: str | None = None
    output_url: str = ""
    tpu: bool = False
    env_vars: dict[str, str] = {}
    flags: dict[str, object] = {}
    harness_info: dict[str, str] = {}
    site_package_info: dict[str, dict[str, Any]] = {}


def summary(benched: BenchResult, execution: Execution) -> Document:
    document: Document = {
        "execution_id": execution.execution_id,
        "execution_timestamp": benched.answer.began or benched.started,
        "benchmark_result": _result(benched),
        "benchmark_info": _info(benched, execution),
        "setup_info": {},
        "ml_framework_info": _framework(benched, execution),
        "system_info": system_info(benched.result.environment.machine, execution)
        | {"hostname": benched.result.environment.system.get("hostname", "")},
    }
    peaks = benched.result.peaks
    if math.isfinite(peaks.get("max_rss", math.nan)):
        document["process_info"] = {
            "max_rss": int(peaks["max_rss"]),
            "max_vms": _to_int(peaks.get("max_vms", 0.0)),
            "max_cpu_percent": peaks.get("max_cpu_percent", 0.0),
        }
    return document


def _to_int(value: float) -> int:
    return int(value) if math.isfinite(value) else 0


def env_vars(variables: Mapping[str, str]) -> dict[str, str]:
    """Variables of PerfZero."""
    return {name: value for name, value in variables.items() if name.startswith("PERFZERO_")}


def system_info(machine: Mapping[str, Value], execution: Execution) -> Document:
    info: Document = {}
    if execution.platform_name:
        info["platform_name"] = execution.platform_name
    if execution.system_name:
        info["system_name"] = execution.system_name
    if not execution.tpu:
        info |= _accelerators(machine)
    return info | {
        "cpu_model": machine.get("cpu", ""),
        "physical_cpu_count": machine.get("cores", 0),
        "logical_cpu_count": machine.get("cpus", 0),
        "cpu_socket_count": machine.get("sockets", 0),
    }


def _accelerators(machine: Mapping[str, Value]) -> Document:
    """The first GPU is the model; a Quadro before others only drives a display."""
    count = int(machine.get("gpus", 0))
    if not count:
        return {}
    names = [str(machine.get(f"gpu{number}", "")) for number in range(count)]
    quadro_first = len(names) > 1 and "Quadro" in names[0]
    return {
        "accelerator_driver_version": str(machine.get("driver", "")),
        "accelerator_model": names[1] if quadro_first else names[0],
        "accelerator_count": count,
    }


def _result(benched: BenchResult) -> Document:
    """As in PerfZero, reports of a method that raised are ignored; `reports` has all."""
    named = label_entries(benched.entries, benched.method.owner, benched.method.method)
    counted = [] if benched.has_exception else named
    main = main_entry(benched.entries, benched.method.owner, benched.method.method)
    wall_time = -1.0 if not counted or main is None else (main.wall_time or 0.0)
    reason = benched.result.reason
    return {
        "name": benched.method.name,
        "wall_time": wall_time,
        "succeeded": benched.result.status == "ok",
        **({"reason": reason} if reason else {}),
        "extras": [extra for prefix, entry in counted for extra in _extras(prefix, entry)],
        "metrics": [
            {**msgspec.to_builtins(metric), "name": f"{prefix}{metric.name}"}
            for prefix, entry in counted
            for metric in entry.metrics
        ],
        "trial_id": benched.trial,
        "reports": [msgspec.to_builtins(entry) for entry in benched.entries],
    }


def _extras(prefix: str, entry: BenchmarkEntry) -> list[Document]:
    """As they were reported: a text that holds JSON stays that text."""
    return [{"name": f"{prefix}{name}", "value": value} for name, value in entry.extras.items()]


def _info(benched: BenchResult, execution: Execution) -> Document:
    info: Document = {
        "harness_name": "perfzero",
        "harness_info": execution.harness_info,
        "has_exception": benched.has_exception,
    }
    if execution.execution_label:
        info["execution_label"] = execution.execution_label
    if execution.output_url:
        info["output_url"] = execution.output_url
    if execution.env_vars:
        info["env_vars"] = execution.env_vars
    if execution.flags:
        info["flags"] = execution.flags
    return info | {"site_package_info": execution.site_package_info}


def _framework(benched: BenchResult, execution: Execution) -> Document:
    info: Document = {
        "name": "none",
        "version": "",
        "build_version": "",
        **benched.answer.framework,
    }
    if execution.ml_framework_build_label:
        info["build_label"] = execution.ml_framework_build_label
    return info
