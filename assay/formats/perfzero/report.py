"""`assay.Benchmark`: a base for benchmark classes, with `report_benchmark` and no framework."""

from __future__ import annotations

import json
import numbers
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from assay.formats.perfzero.entries import BenchmarkEntry, ReportedMetric

REPORTS = "ASSAY_REPORTS"  # environment variable: file to append reports to


class Benchmark:
    """tf.test.Benchmark without TensorFlow. Outside of assay, reports stay in the object.

    class Matmul(assay.Benchmark):
        def benchmark_small(self):
            self.report_benchmark(iters=10, wall_time=0.2)
    """

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: Mapping[str, object] | None = None,
        name: str | None = None,
        metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Report numbers; may be called several times, also with the same name."""
        entry = BenchmarkEntry(
            name=f"{type(self).__name__}.{name or self._method()}",
            iters=None if iters is None else int(iters),
            cpu_time=_number(cpu_time),
            wall_time=_number(wall_time),
            throughput=_number(throughput),
            extras={str(key): _extra(value) for key, value in (extras or {}).items()},
            metrics=tuple(_metric(metric) for metric in metrics or ()),
            time=time.time(),
        )
        self.reports = [*getattr(self, "reports", []), entry]
        if path := os.environ.get(REPORTS):
            _append(path, entry)

    def _method(self) -> str:
        """The outermost method of this object on the stack."""
        frame, name = sys._getframe(2), ""
        while frame.f_back:
            if frame.f_locals.get("self") is self:
                name = frame.f_code.co_name
            frame = frame.f_back
        return name or "report"


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _extra(value: object) -> float | str:
    return float(value) if isinstance(value, numbers.Real) else str(value)


def _metric(metric: Mapping[str, Any]) -> ReportedMetric:
    for field in ("name", "value"):
        if field not in metric:
            raise TypeError(
                f"A metric has a name and a value, but {dict(metric)} has no '{field}'."
            )
    return ReportedMetric(
        name=str(metric["name"]),
        value=float(metric["value"]),
        min_value=_number(metric.get("min_value")),
        max_value=_number(metric.get("max_value")),
    )


def _append(path: str, entry: BenchmarkEntry) -> None:
    """Append one line unbuffered, so that the report survives a crash."""
    plain = {field: getattr(entry, field) for field in entry.__struct_fields__}
    plain["metrics"] = [
        {field: getattr(metric, field) for field in metric.__struct_fields__}
        for metric in entry.metrics
    ]
    with open(path, "ab", buffering=0) as file:
        file.write(json.dumps(plain).encode() + b"\n")  # json supports NaN


def read_line(line: bytes) -> BenchmarkEntry:
    """Parse a line; ValueError if it is no report."""
    try:
        plain = json.loads(line)
        metrics = tuple(ReportedMetric(**metric) for metric in plain.pop("metrics"))
        return BenchmarkEntry(**plain, metrics=metrics)
    except (TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"no report: {error}") from None
