"""A series over time → a chart in the terminal, its shifts as a table, and its JSON document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec

from assay.commands.history.api import ExplainedShift, SeriesHistory
from assay.core.errors import AssayError, UsageError
from assay.core.findings import Output, Table
from assay.core.records import SCHEMA
from assay.core.units import human, percent_change, plural
from assay.reporting.python_view import TableList
from assay.stats.causes import Cause
from assay.stats.trend import Drift

MAX_CHANGES = 3  # that the table names beside a shift


def output(histories: Sequence[SeriesHistory], form: str, width: int = 0) -> Output:
    """Every point is a row or an entry for programs only: a terminal need not wait for those.
    `width`: of the terminal; 0: unlimited."""
    tables = (shifts_table(histories[0]),) if len(histories) == 1 else (series_table(histories),)
    return Output(
        tables=tables,
        header=header(histories[0], width) if len(histories) == 1 else "",
        document={
            "schema": SCHEMA,
            "kind": "histories",
            "histories": [_document(series) for series in histories],
        }
        if form == "json"
        else None,
        values=_values(histories) if form == "csv" else None,
    )


def table_list(histories: Sequence[SeriesHistory]) -> TableList[SeriesHistory]:
    """Histories for Python: they print as their table."""
    return TableList(histories, lambda items: output(items, "text"), _summary_row, _best)


def _best(histories: Sequence[SeriesHistory]) -> SeriesHistory:
    """Of series with the same metric, the one whose newest value is best."""
    from assay.stats.gate import Threshold, is_worse  # with numpy

    if len({history.metric for history in histories}) > 1:
        metrics = ", ".join(sorted({history.metric for history in histories}))
        raise UsageError(
            f"These series have different metrics ({metrics}).", hint="Name one: metric=…"
        )
    measured = [history for history in histories if history.points]
    if not measured:
        raise AssayError("There is no series with a result.")
    threshold = Threshold(metric=measured[0].metric, share=0.0)
    lower_is_better = is_worse(2.0, threshold, measured[0].unit)
    return (min if lower_is_better else max)(measured, key=lambda history: history.points[-1].value)


def _summary_row(history: SeriesHistory) -> dict[str, Any]:
    row = {name: getattr(history, name) for name in ("key", "metric", "unit", "machine", "version")}
    last = history.points[-1] if history.points else None
    shift = history.shifts[-1].shift if history.shifts else None
    return {
        **row,
        "points": len(history.points),
        "last": last.value if last else math.nan,
        "last_id": last.id if last else "",
        "shifts": len(history.shifts),
        "last_shift": shift.size if shift else math.nan,
    }


def header(history: SeriesHistory, width: int = 0) -> str:
    """The chart above the table of shifts."""
    values = [point.value for point in history.points]
    lines = [f"{history.key}  {history.metric}  on {history.machine or 'an unknown machine'}"]
    columns = max(MIN_WIDTH, min(WIDTH, width - AXIS)) if width else WIDTH
    shifts = [explained.shift.place for explained in history.shifts]
    lines += chart(values, history.unit, shifts, columns)
    return "\n".join([*lines, _span(history)])


def shifts_table(history: SeriesHistory) -> Table:
    rows = tuple(_row(item, history) for item in history.shifts)
    return Table(
        title="" if rows else "No shift was found.",
        columns=("since", "point", "change", "95 % interval", "from", "to", "p", "changed there"),
        rows=rows,
        numeric=frozenset({"point", "change", "95 % interval", "from", "to", "p"}),
        spare=("p", "point", "from"),
        notes=(*(drift_text(item) for item in history.drifts), *history.notes),
    )


def series_table(histories: Sequence[SeriesHistory]) -> Table:
    """Of several series: one row each."""
    rows = tuple(
        (
            *(
                history.key,
                history.metric,
                history.machine,
                history.version,
                str(len(history.points)),
            ),
            human(history.points[-1].value, history.unit) if history.points else "",
            str(len(history.shifts)),
            _size(history.shifts[-1].shift.size, history) if history.shifts else "",
        )
        for history in histories
    )
    return Table(
        columns=("case", "metric", "machine", "version", "points", "last", "shifts", "last shift"),
        rows=rows,
        numeric=frozenset({"points", "last", "shifts", "last shift"}),
        shortened=frozenset({"case", "machine"}),
        notes=("Name a whole case, or --machine, to see one of them with its chart.",),
    )


def drift_text(drift: Drift) -> str:
    return (
        f"drift: {percent_change(drift.size)} over {drift.points} points without a step, from "
        f"{drift.first} to {drift.last} (p = {drift.p:.2g})"
    )


def changes_text(changed: Sequence[Cause], most: int = MAX_CHANGES) -> str:
    named = [
        f"{cause.what} {cause.before or '—'} → {cause.after or '—'}" for cause in changed[:most]
    ]
    more = len(changed) - len(named)
    return "; ".join([*named, *([f"{more} more"] if more > 0 else [])])


def _row(explained: ExplainedShift, history: SeriesHistory) -> tuple[str, ...]:
    shift = explained.shift
    return (
        shift.started[:16].replace("T", " "),
        str(shift.place + 1),
        _size(shift.size, history),
        f"{_size(shift.low, history)} – {_size(shift.high, history)}",
        human(shift.level_before, history.unit),
        human(shift.level_after, history.unit),
        f"{shift.p:.1g}",
        changes_text(explained.changed) or "nothing that assay records",
    )


def _size(size: float, history: SeriesHistory) -> str:
    ratios = all(point.value > 0 for point in history.points)
    return percent_change(size) if ratios else human(size, history.unit)


def _span(history: SeriesHistory) -> str:
    if not history.points:
        return ""
    first, last = history.points[0], history.points[-1]
    if history.order == "commit":
        ends = f"{first.commit[:10]} … {last.commit[:10]}"
    else:
        ends = f"{first.started[:10]} … {last.started[:10]}"
    stable = len(history.points) - history.stable_from
    return f"{plural(len(history.points), 'point')}, {ends}; the last {stable} are one stretch"


def _document(history: SeriesHistory) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(history)
    names = ("id", "started", "commit", "label", "value", "low", "high")
    plain["points"] = [dict(zip(names, point, strict=True)) for point in plain["points"]]
    return plain


def _values(histories: Sequence[SeriesHistory]) -> Table:
    return Table(
        columns=("series", "case", "metric", "id", "started", "commit", "value", "low", "high"),
        rows=tuple(
            (
                *(
                    history.series,
                    history.key,
                    history.metric,
                    point.id,
                    point.started,
                    point.commit,
                ),
                *(repr(point.value), repr(point.low), repr(point.high)),
            )
            for history in histories
            for point in history.points
        ),
    )


HEIGHT = 12
WIDTH = 72  # columns of points
MIN_WIDTH = 10
AXIS = 12  # columns of the labels, at most
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
    columns = []
    for column in range(count):
        first, last = column * len(values) // count, (column + 1) * len(values) // count
        part = sorted(value for value in values[first:last] if math.isfinite(value))
        part = part or [math.nan]
        columns.append((part[0], part[len(part) // 2], part[-1]))
    return [(a, b, c) for a, b, c in columns if b == b]


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
