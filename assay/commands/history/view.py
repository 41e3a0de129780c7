"""A series over time → a chart in the terminal, its shifts as a table, and its JSON document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from assay.commands.history.api import ExplainedShift, SeriesHistory
from assay.core.findings import Output, Table
from assay.core.records import SCHEMA
from assay.core.units import human, percent_change, plural
from assay.reporting.output.text import table_text
from assay.stats.causes import Cause
from assay.stats.trend import Drift

MAX_CHANGES = 3  # that the table names beside a shift


def output(found: Sequence[SeriesHistory], form: str) -> Output:
    """Every point is a row or an entry for programs only: a terminal need not wait for those."""
    tables = (shifts_table(found[0]),) if len(found) == 1 else (series_table(found),)
    return Output(
        tables=tables,
        page=page(found[0]) if len(found) == 1 else "",
        document={
            "schema": SCHEMA,
            "kind": "histories",
            "histories": [_document(one) for one in found],
        }
        if form == "json"
        else None,
        values=_values(found) if form == "csv" else None,
    )


def page(found: SeriesHistory) -> str:
    """The chart, the shifts below it, and what has to be said of them."""
    values = [point.value for point in found.points]
    lines = [f"{found.key}  {found.metric}  on {found.machine or 'an unknown machine'}"]
    lines += chart(values, found.unit, [one.shift.place for one in found.shifts])
    lines.append(_span(found))
    return "\n".join([*lines, "", table_text(shifts_table(found))])


def shifts_table(found: SeriesHistory) -> Table:
    rows = tuple(_row(one, found) for one in found.shifts)
    return Table(
        title="" if rows else "No shift was found.",
        columns=("since", "point", "change", "95 % interval", "from", "to", "p", "changed there"),
        rows=rows,
        numeric=frozenset({"point", "change", "95 % interval", "from", "to", "p"}),
        notes=(*(drift_text(one) for one in found.drifts), *found.notes),
    )


def series_table(found: Sequence[SeriesHistory]) -> Table:
    """Of several series: one row each."""
    rows = tuple(
        (
            *(one.key, one.metric, one.machine, one.version, str(len(one.points))),
            human(one.points[-1].value, one.unit) if one.points else "",
            str(len(one.shifts)),
            _size(one.shifts[-1].shift.size, one) if one.shifts else "",
        )
        for one in found
    )
    return Table(
        columns=("case", "metric", "machine", "version", "points", "last", "shifts", "last shift"),
        rows=rows,
        numeric=frozenset({"points", "last", "shifts", "last shift"}),
        shortened=frozenset({"case", "machine"}),
        notes=("Name a whole case, or --machine, to see one of them with its chart.",),
    )


def drift_text(found: Drift) -> str:
    return (
        f"drift: {percent_change(found.size)} over {found.points} points without a step, from "
        f"{found.first} to {found.last} (p = {found.p:.2g})"
    )


def changes_text(changed: Sequence[Cause], most: int = MAX_CHANGES) -> str:
    named = [f"{one.what} {one.before or '—'} → {one.after or '—'}" for one in changed[:most]]
    more = len(changed) - len(named)
    return "; ".join([*named, *([f"{more} more"] if more > 0 else [])])


def _row(one: ExplainedShift, found: SeriesHistory) -> tuple[str, ...]:
    shift = one.shift
    return (
        shift.started[:16].replace("T", " "),
        str(shift.place + 1),
        _size(shift.size, found),
        f"{_size(shift.low, found)} – {_size(shift.high, found)}",
        human(shift.level_before, found.unit),
        human(shift.level_after, found.unit),
        f"{shift.p:.1g}",
        changes_text(one.changed) or "nothing that assay records",
    )


def _size(size: float, found: SeriesHistory) -> str:
    ratios = all(point.value > 0 for point in found.points)
    return percent_change(size) if ratios else human(size, found.unit)


def _span(found: SeriesHistory) -> str:
    if not found.points:
        return ""
    first, last = found.points[0], found.points[-1]
    if found.order == "commit":
        ends = f"{first.commit[:10]} … {last.commit[:10]}"
    else:
        ends = f"{first.started[:10]} … {last.started[:10]}"
    stable = len(found.points) - found.stable_from
    return f"{plural(len(found.points), 'point')}, {ends}; the last {stable} are one stretch"


def _document(found: SeriesHistory) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(found)
    names = ("id", "started", "commit", "label", "value", "low", "high")
    plain["points"] = [dict(zip(names, point, strict=True)) for point in plain["points"]]
    return plain


def _values(found: Sequence[SeriesHistory]) -> Table:
    return Table(
        columns=("series", "case", "metric", "id", "started", "commit", "value", "low", "high"),
        rows=tuple(
            (
                *(one.series, one.key, one.metric, point.id, point.started, point.commit),
                *(repr(point.value), repr(point.low), repr(point.high)),
            )
            for one in found
            for point in one.points
        ),
    )


HEIGHT = 12
WIDTH = 72  # columns of points
POINT, SPREAD, SHIFT = "●", "│", "┊"


def chart(
    values: Sequence[float], unit: str, shifts: Sequence[int] = (), width: int = WIDTH
) -> list[str]:
    """Lines from the highest value to the lowest; `shifts` are marked where they begin."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return []
    columns = _columns(values, min(width, len(values)))
    low, high = min(finite), max(finite)
    grid = [[" "] * len(columns) for _ in range(HEIGHT)]
    for place in shifts:
        column = min(place * len(columns) // len(values), len(columns) - 1)
        for line in grid:
            line[column] = SHIFT
    for column, (least, middle, most) in enumerate(columns):
        for row in range(_line(most, low, high), _line(least, low, high) + 1):
            grid[row][column] = SPREAD
        grid[_line(middle, low, high)][column] = POINT
    return _with_axis(grid, low, high, unit)


def _columns(values: Sequence[float], count: int) -> list[tuple[float, float, float]]:
    """Of each column the least, the median and the most: extremes are never thinned away."""
    found = []
    for column in range(count):
        first, last = column * len(values) // count, (column + 1) * len(values) // count
        part = sorted(value for value in values[first:last] if math.isfinite(value))
        part = part or [math.nan]
        found.append((part[0], part[len(part) // 2], part[-1]))
    return [(a, b, c) for a, b, c in found if b == b]


def _line(value: float, low: float, high: float) -> int:
    if high == low:
        return HEIGHT // 2
    return round((HEIGHT - 1) * (high - value) / (high - low))


def _with_axis(grid: list[list[str]], low: float, high: float, unit: str) -> list[str]:
    labels = {0: human(high, unit), HEIGHT - 1: human(low, unit)}
    labels[HEIGHT // 2] = human(high + (low - high) * (HEIGHT // 2) / (HEIGHT - 1), unit)
    room = max(len(label) for label in labels.values())
    return [
        f"{labels.get(number, ''):>{room}} ┤{''.join(row)}".rstrip()
        for number, row in enumerate(grid)
    ]
