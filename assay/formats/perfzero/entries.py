"""Reports of benchmark methods: TensorFlow's BenchmarkEntry as records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from assay.core.records import Samples, Value


class ReportedMetric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A number with the bounds in which the benchmark succeeds."""

    name: str
    value: float
    min_value: float | None = None
    max_value: float | None = None


class BenchmarkEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One call of report_benchmark. Missing fields are None; protobuf omits zeros too."""

    name: str  # Class.method, or Class.NAME for a report with a name of its own
    iters: int | None = None
    cpu_time: float | None = None
    wall_time: float | None = None
    throughput: float | None = None
    extras: dict[str, float | str] = {}
    metrics: tuple[ReportedMetric, ...] = ()
    time: float = 0.0  # seconds since 1970


def main_entry(
    entries: tuple[BenchmarkEntry, ...], owner: str, method: str
) -> BenchmarkEntry | None:
    """The report with the method's name, else the first."""
    own = f"{owner}.{method}"
    return next((e for e in entries if e.name == own), entries[0] if entries else None)


def label_entries(
    entries: tuple[BenchmarkEntry, ...], owner: str, method: str
) -> list[tuple[str, BenchmarkEntry]]:
    """Reports with prefixes for the names of their numbers: none for the main report.

    Reports with equal names get a number.
    """
    main = main_entry(entries, owner, method)
    seen: dict[str, int] = {}
    labels = []
    for entry in entries:
        short = entry.name.removeprefix(f"{owner}.")
        seen[short] = seen.get(short, 0) + 1
        count = f"#{seen[short]}" if seen[short] > 1 else ""
        labels.append(("" if entry is main else f"{short}{count}/", entry))
    return labels


_UNITS = {"wall_time": "s", "cpu_time": "s", "throughput": "", "iters": ""}


def samples(named: list[tuple[str, BenchmarkEntry]]) -> tuple[Samples, ...]:
    """Every number of every report by name; equal names share their samples."""
    values_by_name: dict[tuple[str, str], tuple[float, ...]] = {}
    for prefix, entry in named:
        for name, unit, value in _numbers(entry):
            key = f"{prefix}{name}", unit
            values_by_name[key] = (*values_by_name.get(key, ()), value)
    return tuple(
        Samples(metric=name, unit=unit, phase="steady", values=values)
        for (name, unit), values in values_by_name.items()
    )


def texts(named: list[tuple[str, BenchmarkEntry]]) -> dict[str, Value]:
    """Reported texts."""
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
        number = parse_verdict(extra).get("value", extra)
        if isinstance(number, int | float):
            yield name, "", float(number)


def failure_reasons(entries: tuple[BenchmarkEntry, ...]) -> list[str]:
    """Reasons why the reports are failures; empty: success."""
    return [reason for entry in entries for reason in _entry_failures(entry)]


def parse_verdict(text: float | str) -> dict[str, Any]:
    """`value`, `succeeded` and `description` in a JSON text among the extras.

    PerfZero's classes before 2019 reported metrics so; empty for other texts.
    """
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return {}
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    known = ("value", "succeeded", "description")
    return (
        {key: document[key] for key in known if key in document}
        if isinstance(document, dict)
        else {}
    )


def _entry_failures(entry: BenchmarkEntry) -> Iterator[str]:
    for metric in entry.metrics:
        if reason := _metric_failure(metric):
            yield reason
    for name, text in entry.extras.items():
        judged = parse_verdict(text)
        if judged.get("succeeded") is False:
            yield f"{name} did not succeed: {judged.get('description') or judged.get('value', '')}"


def _metric_failure(metric: ReportedMetric) -> str:
    """Bounds are inclusive. nan is never within them."""
    if math.isnan(metric.value):
        return f"{metric.name} is not a number"
    if metric.min_value is not None and not metric.value >= metric.min_value:
        return f"{metric.name} is {metric.value:g}, below its minimum of {metric.min_value:g}"
    if metric.max_value is not None and not metric.value <= metric.max_value:
        return f"{metric.name} is {metric.value:g}, above its maximum of {metric.max_value:g}"
    return ""
