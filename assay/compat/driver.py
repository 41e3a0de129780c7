"""The AWS benchmark driver: its one JSON from a result, under its own names and units."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

from assay.core.records import Result
from assay.logs.aws import result_key
from assay.logs.patterns import compile_pattern, expand
from assay.logs.task import Metric

TEMPLATE = "task_config_template.cfg"
RESULT = "dlbenchmark_result.json"
FIRST_LOOK = 5.0  # seconds
_OURS = re.compile(r"\{number\}|\{quantity\}")  # the old driver never saw such a pattern


def document(
    result: Result, series: Sequence[Mapping[str, float]], framework: str, suffix: str
) -> dict[str, float]:
    """`[framework.]task.metric[.suffix]` → number. Names, units and formulas are old;
    the memory is that of the whole process tree, not of the shell alone."""
    task = result.case.workload
    reported = result.reported
    metrics = {part.metric: part.values[-1] for part in result.samples if part.metric in reported}
    gpus = int(result.case.params.get("num_gpus", 0))
    values = metrics | _memory(result, series) | _gpu_memory(series, gpus) | _uptime()
    return {result_key(task, name, framework, suffix): value for name, value in values.items()}


def read_otherwise(metrics: Sequence[Metric], lines: Iterable[str]) -> Iterator[str]:
    """A note for each metric whose pattern the old driver read otherwise: it lost signs, exponents,
    thousands and nan."""
    watched = {
        metric.name: (re.compile(metric.pattern), compile_pattern(metric.pattern).regex)
        for metric in metrics
        if expand(metric.pattern) != metric.pattern and not _OURS.search(metric.pattern)
    }
    found: dict[str, tuple[str, str]] = {}
    for line in lines:
        for name, (before, now) in watched.items():
            texts = _first(before, line), _first(now, line)
            if texts[1] and texts[0] != texts[1]:
                found.setdefault(name, texts)
    for name, (old, new) in found.items():
        was = f"read {old}" if old else "found nothing"
        yield f"{name}: {new} is read whole, where the old driver {was}"


def _first(regex: re.Pattern[str], line: str) -> str:
    match = regex.search(line)
    return (match[min(1, regex.groups)] or "") if match else ""


def _memory(result: Result, series: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of the tree's resident memory in KiB; of a command the old driver was too slow for,
    which had its first look after 5 s, the peak."""
    seen = [row["rss"] for row in series if row.get("rss")]
    brief = result.seconds < FIRST_LOOK or not seen
    found = result.peaks.get("max_rss") if brief else fmean(seen)
    return {} if found is None else {"cpu_memory_usage": found / 1024}


def _gpu_memory(series: Sequence[Mapping[str, float]], gpus: int) -> dict[str, float]:
    """In MiB, of the first GPUs: mean, deviation of a sample and maximum of each, then the mean of
    those over the GPUs. So the old driver computed all three."""
    names = [f"gpu{number}_memory_used" for number in range(gpus)]
    each = [[row[name] / 2**20 for row in series if name in row] for name in names]
    seen = [values for values in each if values]
    if not seen:
        return {}
    return {
        "gpu_memory_usage_mean": fmean(map(fmean, seen)),
        "gpu_memory_usage_std": fmean(stdev(v) if len(v) > 1 else 0.0 for v in seen),
        "gpu_memory_usage_max": fmean(map(max, seen)),
    }


def _uptime() -> dict[str, float]:
    """Of the host, as the old driver told it: not the time the command took."""
    try:
        return {"uptime_in_seconds": float(Path("/proc/uptime").read_text().split()[0])}
    except (OSError, ValueError):
        return {}
