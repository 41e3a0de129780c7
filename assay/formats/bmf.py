"""Bencher Metric Format: benchmark → measure → value and interval; latencies in nanoseconds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.findings import Quantity, SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Result, Samples
from assay.formats import common

KIND = "bmf"
_LATENCY = "latency"
_NANOSECONDS = common.SECONDS["ns"]


def matches(content: Content) -> bool:
    document = content.json
    return (
        isinstance(document, dict)
        and bool(document)
        and all(_is_measured(m) for m in document.values())
    )


def read(content: Content) -> Sequence[Result]:
    return [
        common.make_result(
            KIND,
            name,
            [_samples(content, name, measure, metric) for measure, metric in measures.items()],
        )
        for name, measures in content.json.items()
    ]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    """The last result of a case is written: a file has one value per measure."""
    measures = {
        common.name_for(KIND, reading.result): _measures(reading)
        for reading in readings
        if reading.summary.quantities
    }
    if not measures:
        raise common.no_values_error(KIND)
    return common.as_json(measures)


def _is_measured(measures: object) -> bool:
    return (
        isinstance(measures, dict)
        and bool(measures)
        and all(isinstance(metric, dict) and "value" in metric for metric in measures.values())
    )


def _samples(content: Content, name: str, measure: str, metric: dict[str, Any]) -> Samples:
    value = common.number(content, metric["value"], f"{measure} of {name}")
    if measure == _LATENCY:
        return common.steady_samples(common.STEP, "s", (value / _NANOSECONDS,))
    return common.steady_samples(measure, "", (value,))


def _measures(reading: SummarizedResult) -> dict[str, dict[str, float]]:
    main = common.main_parts(reading.result)
    timed = main[0].metric if main and main[0].unit == "s" else ""
    return {
        _LATENCY if name == timed else name: _metric(q, _NANOSECONDS if name == timed else 1.0)
        for name, q in reading.summary.quantities.items()
        if math.isfinite(q.value)
    }


def _metric(quantity: Quantity, factor: float) -> dict[str, float]:
    ends = {"lower_value": quantity.low, "upper_value": quantity.high}
    known = {name: factor * value for name, value in ends.items() if math.isfinite(value)}
    return {"value": factor * quantity.value, **known}


PROVIDES = {
    KIND: Format(
        summary="Bencher Metric Format: values with intervals, for bencher.dev",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}
