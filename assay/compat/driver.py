"""The AWS benchmark driver: its one JSON from a result, under its own names and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, pstdev

from assay.records import Result
from assay.tasks.aws import result_key

TEMPLATE = "task_config_template.cfg"
RESULT = "dlbenchmark_result.json"
FIRST_LOOK = 5.0  # seconds


def document(
    result: Result, series: Sequence[Mapping[str, float]], framework: str, suffix: str
) -> dict[str, float]:
    """`[framework.]task.metric[.suffix]` → number. The names are old, what they mean is true:
    memory of the whole process tree, and a maximum that is one."""
    task = result.case.workload
    metrics = {
        part.metric: part.values[-1]
        for part in result.samples
        if part.metric != "wall_time" and part.values
    }
    gpus = int(result.case.params.get("num_gpus", 0)) > 0
    values = metrics | _memory(result, series) | (_gpu_memory(series) if gpus else {}) | _uptime()
    return {result_key(task, name, framework, suffix): value for name, value in values.items()}


def _memory(result: Result, series: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of the tree's resident memory in KiB; of a command the old driver was too slow for,
    which had its first look after 5 s, the peak."""
    seen = [row["rss"] for row in series if row.get("rss")]
    brief = result.seconds < FIRST_LOOK or not seen
    return {"cpu_memory_usage": (result.peaks.get("max_rss", 0.0) if brief else fmean(seen)) / 1024}


def _gpu_memory(series: Sequence[Mapping[str, float]]) -> dict[str, float]:
    seen = [row["gpu_memory_used"] / 2**20 for row in series if "gpu_memory_used" in row]
    if not seen:
        return {}
    return {
        "gpu_memory_usage_mean": fmean(seen),
        "gpu_memory_usage_std": pstdev(seen),
        "gpu_memory_usage_max": max(seen),
    }


def _uptime() -> dict[str, float]:
    """Of the host, as the old driver told it: not the time the command took."""
    try:
        return {"uptime_in_seconds": float(Path("/proc/uptime").read_text().split()[0])}
    except (OSError, ValueError):
        return {}
