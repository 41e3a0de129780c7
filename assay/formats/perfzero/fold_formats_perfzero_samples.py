"""Reports of a benchmark method → the raw values a result keeps."""

from __future__ import annotations

from collections.abc import Iterator

from assay.core.records import Samples, Value
from assay.formats.perfzero.entries import BenchmarkEntry
from assay.formats.perfzero.fold_formats_perfzero_verdict import judgement

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
