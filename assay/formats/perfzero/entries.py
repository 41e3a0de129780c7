"""What a benchmark method reports: the fields of TensorFlow's BenchmarkEntry, as records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from assay.core.records import Samples, Value


class ReportedMetric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number, and between which bounds it has to lie for the benchmark to succeed."""

    name: str
    value: float
    min_value: float | None = None
    max_value: float | None = None


class BenchmarkEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One call of report_benchmark. What was not given is None; protobuf leaves zeros out too."""

    name: str  # Class.method, or Class.NAME for a report with a name of its own
    iters: int | None = None
    cpu_time: float | None = None
    wall_time: float | None = None
    throughput: float | None = None
    extras: dict[str, float | str] = {}
    metrics: tuple[ReportedMetric, ...] = ()
    time: float = 0.0  # when it appeared, in seconds since 1970


def main_entry(
    entries: tuple[BenchmarkEntry, ...], owner: str, method: str
) -> BenchmarkEntry | None:
    """The report that bears the method's own name, else the first."""
    own = f"{owner}.{method}"
    return next((e for e in entries if e.name == own), entries[0] if entries else None)


def labelled(
    entries: tuple[BenchmarkEntry, ...], owner: str, method: str
) -> list[tuple[str, BenchmarkEntry]]:
    """Each report with what goes before the names of its numbers: nothing for the main one.

    Reports that share a name are told apart by a count.
    """
    main = main_entry(entries, owner, method)
    seen: dict[str, int] = {}
    found = []
    for entry in entries:
        short = entry.name.removeprefix(f"{owner}.")
        seen[short] = seen.get(short, 0) + 1
        count = f"#{seen[short]}" if seen[short] > 1 else ""
        found.append(("" if entry is main else f"{short}{count}/", entry))
    return found


_UNITS = {"wall_time": "s", "cpu_time": "s", "throughput": "", "iters": ""}


def samples(named: list[tuple[str, BenchmarkEntry]]) -> tuple[Samples, ...]:
    """Every number of every report, by its name; equal names of one report share their samples."""
    found: dict[tuple[str, str], tuple[float, ...]] = {}
    for prefix, entry in named:
        for name, unit, value in _numbers(entry):
            key = f"{prefix}{name}", unit
            found[key] = (*found.get(key, ()), value)
    return tuple(
        Samples(metric=name, unit=unit, phase="steady", values=values)
        for (name, unit), values in found.items()
    )


def texts(named: list[tuple[str, BenchmarkEntry]]) -> dict[str, Value]:
    """What was reported in words."""
    return {
        f"{prefix}{name}": value
        for prefix, entry in named
        for name, value in entry.extras.items()
        if isinstance(value, str)
    }


def _numbers(entry: BenchmarkEntry) -> Iterator[tuple[str, str, float]]:
    for name, unit in _UNITS.items():
        value = getattr(entry, name)
        if value is not None:
            yield name, unit, float(value)
    for metric in entry.metrics:
        yield metric.name, "", metric.value
    for name, extra in entry.extras.items():
        answer = judgement(extra).get("value", extra)
        if isinstance(answer, int | float):
            yield name, "", float(answer)


def broken(entries: tuple[BenchmarkEntry, ...]) -> list[str]:
    """Every reason, in words, why these reports are no success; none means success."""
    return [reason for entry in entries for reason in _of_entry(entry)]


def judgement(text: float | str) -> dict[str, Any]:
    """What a text among the extras says of itself: `value`, `succeeded`, `description`.

    PerfZero's classes before 2019 told their metrics so; any other text says nothing.
    """
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    known = ("value", "succeeded", "description")
    return {key: found[key] for key in known if key in found} if isinstance(found, dict) else {}


def _of_entry(entry: BenchmarkEntry) -> Iterator[str]:
    for metric in entry.metrics:
        if reason := _of_metric(metric):
            yield reason
    for name, text in entry.extras.items():
        said = judgement(text)
        if said.get("succeeded") is False:
            yield f"{name} did not succeed: {said.get('description') or said.get('value', '')}"


def _of_metric(metric: ReportedMetric) -> str:
    """Bounds belong to what they allow. A value that is not a number is never within them."""
    if math.isnan(metric.value):
        return f"{metric.name} is not a number"
    if metric.min_value is not None and not metric.value >= metric.min_value:
        return f"{metric.name} is {metric.value:g}, below its least of {metric.min_value:g}"
    if metric.max_value is not None and not metric.value <= metric.max_value:
        return f"{metric.name} is {metric.value:g}, above its most of {metric.max_value:g}"
    return ""
