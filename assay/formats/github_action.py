"""github-action-benchmark's custom list: name, unit, value and range, where smaller is better."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from assay.core.findings import Quantity, SummarizedResult
from assay.core.formats import Content, Format
from assay.core.records import Result
from assay.formats import common

KIND = "github-action"


def matches(content: Content) -> bool:
    rows = content.json
    return isinstance(rows, list) and bool(rows) and all(_is_row(row) for row in rows)


def read(content: Content) -> Sequence[Result]:
    return [_result(content, row) for row in content.json]


def write(readings: Iterable[SummarizedResult]) -> bytes:
    rows = [row for reading in readings for row in _rows(reading)]
    if not rows:
        raise common.no_values_error(KIND)
    return common.as_json(rows)


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and {"name", "unit", "value"} <= row.keys()


def _result(content: Content, row: dict[str, Any]) -> Result:
    name = common.text(content, row["name"], "name")
    unit = common.text(content, row["unit"], "unit")
    value = common.number(content, row["value"], name)
    timed = unit in common.SECONDS
    sample = (
        common.steady_samples(common.STEP, "s", (value / common.SECONDS[unit],))
        if timed
        else common.steady_samples("value", common.plain(unit), (value,))
    )
    facts = common.scalars(row, "github-action.", ("name", "unit", "value"))
    return common.make_result(KIND, name, [sample], facts=facts)


def _rows(reading: SummarizedResult) -> Iterable[dict[str, Any]]:
    """The main metric only: the list is for metrics where smaller is better."""
    main = common.main_parts(reading.result)
    quantity = reading.summary.quantities.get(main[0].metric) if main else None
    if quantity is None or not math.isfinite(quantity.value):
        return
    yield {
        "name": common.name_for(KIND, reading.result),
        "unit": quantity.unit,
        "value": quantity.value,
        **_range(quantity),
        "extra": f"{reading.result.id}: {quantity.estimator}, n = {quantity.n}",
    }


def _range(quantity: Quantity) -> dict[str, str]:
    half = (quantity.high - quantity.low) / 2
    return {"range": f"± {half:.3g}"} if math.isfinite(half) else {}


PROVIDES = {
    KIND: Format(
        summary="github-action-benchmark: its list for customSmallerIsBetter",
        suffix=".json",
        matches=matches,
        read=read,
        write=write,
    )
}
