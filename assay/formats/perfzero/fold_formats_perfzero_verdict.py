"""Whether a benchmark succeeded, from what it reported."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from assay.formats.perfzero.entries import BenchmarkEntry, ReportedMetric


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
