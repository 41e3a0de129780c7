"""Charts as SVG; they are complete without the script, which zooms and shows values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec
from markupsafe import Markup, escape

from assay.web.charts.scale import Kind, Scale, downsample, make_scale

WIDTH, LEFT, RIGHT, TOP, FOOT = 860, 76, 12, 12, 40
CLIPPED = "<title>the interval is wider than the chart</title>"
MAX_POINTS = 1_500  # of one series at the most; its extremes are kept


class Dots(msgspec.Struct, frozen=True, kw_only=True):
    """Points of one colour; `tooltip` returns the text of a point."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    lows: Sequence[float] = ()
    highs: Sequence[float] = ()
    tooltip: Callable[[int], str] | None = None
    style: Literal["a", "b", "c", "muted"] = "a"
    line: bool = False


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A labelled position on the x axis."""

    x: float
    text: str


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A horizontal stretch: the level between two changes, with its interval."""

    start: float
    end: float
    value: float
    low: float = math.nan
    high: float = math.nan


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """Series over one x axis."""

    title: str
    series: tuple[Dots, ...]
    x_label: str = ""
    y_label: str = ""
    unit: str = ""
    x_unit: str = ""
    x_kind: Kind = "number"
    y_kind: Kind = "number"
    marks: tuple[Mark, ...] = ()
    levels: tuple[Level, ...] = ()
    from_zero: bool = False
    height: int = 260


def render_chart(chart: Chart) -> Markup:
    """The chart; nothing where no series has a point."""
    if not any(len(series.xs) for series in chart.series):
        return Markup()
    across, up = _scales(chart)
    wide, high = WIDTH - LEFT - RIGHT, chart.height - TOP - FOOT
    inside = Markup().join(
        (
            *(_level(level, across, up, wide, high) for level in chart.levels),
            *(_series(series, across, up, wide, high) for series in chart.series),
            *(_mark(mark, across, wide, high) for mark in chart.marks),
        )
    )
    return Markup(
        '<figure class="chart"><svg viewBox="0 0 {width} {height}" role="img" aria-label="{title}"'
        ' data-low="{x0}" data-high="{x1}" data-kind="{kind}" data-unit="{unit}">'
        '{axes}<svg class="plot" x="{left}" y="{top}" width="{wide}" height="{high}"'
        ' viewBox="0 0 {wide} {high}" preserveAspectRatio="none">{inside}</svg></svg>'
        "<figcaption>{legend}</figcaption></figure>"
    ).format(
        width=WIDTH,
        height=chart.height,
        title=chart.title,
        x0=across.low,
        x1=across.high,
        kind=across.kind,
        unit=across.unit,
        axes=_axes(chart, across, up),
        left=LEFT,
        top=TOP,
        wide=wide,
        high=high,
        inside=inside,
        legend=_legend(chart),
    )


def interval_cell(low: float, value: float, high: float, scale: Scale) -> Markup:
    """An interval as a line with its value as a dot, for a cell of a table."""
    if not math.isfinite(value):
        return Markup()
    ends = [at if math.isfinite(at) else value for at in (low, high)]
    places = [100 * min(1.0, max(0.0, scale.place(at))) for at in (*ends, value)]
    return Markup(
        '<svg class="interval" viewBox="-2 0 104 12" aria-hidden="true">'
        '<line x1="{:.1f}" y1="6" x2="{:.1f}" y2="6"/><circle cx="{:.1f}" cy="6" r="3"/></svg>'
    ).format(*places)


def clip_ends(values: Sequence[float], ends: Sequence[float]) -> list[float]:
    """Ends of intervals that an axis has to show: no further out than the values span, or half of
    the value if there is one only. What is beyond is clipped and marked."""
    if not values:
        return []
    low, high = min(values), max(values)
    more = (high - low) or abs(high) / 2
    return [min(max(end, low - more), high + more) for end in ends if math.isfinite(end)]


def sparkline(values: Sequence[float]) -> Markup:
    """A line through values, for a cell of a table, with a dot at the newest."""
    finite = [value for value in values if math.isfinite(value)]
    if len(finite) < 2:
        return Markup()
    scale = make_scale(finite)
    points = [
        (100 * number / (len(finite) - 1), 20 * (1 - scale.place(value)))
        for number, value in enumerate(finite)
    ]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return Markup(
        '<svg class="spark" viewBox="-3 -3 106 26" preserveAspectRatio="none" aria-hidden="true">'
        '<polyline points="{}"/><circle cx="{:.1f}" cy="{:.1f}" r="2"/></svg>'
    ).format(path, *points[-1])


def _scales(chart: Chart) -> tuple[Scale, Scale]:
    across = make_scale(
        [x for series in chart.series for x in series.xs], chart.x_unit, chart.x_kind, 0.02
    )
    ys = [y for series in chart.series for y in series.ys if math.isfinite(y)]
    ys += [level.value for level in chart.levels]
    ends = [y for series in chart.series for part in (series.lows, series.highs) for y in part]
    ys += clip_ends(ys, ends)
    up = make_scale(ys + ([0.0] if chart.from_zero else []), chart.unit, chart.y_kind)
    return across, up if not chart.from_zero else msgspec.structs.replace(up, low=0.0)


def _axes(chart: Chart, across: Scale, up: Scale) -> Markup:
    bottom, right = chart.height - FOOT, WIDTH - RIGHT
    lines = [
        Markup(
            '<line class="rule" x1="{}" x2="{}" y1="{y:.1f}" y2="{y:.1f}"/>'
            '<text class="up" x="{}" y="{t:.1f}">{}</text>'
        ).format(LEFT, right, LEFT - 6, text, y=y, t=y + 4)
        for tick, text in up.labels()
        for y in [bottom - (bottom - TOP) * up.place(tick)]
    ]
    ticks = Markup().join(
        Markup('<text x="{:.1f}" y="{}">{}</text>').format(
            LEFT + (right - LEFT) * across.place(tick), bottom + 16, text
        )
        for tick, text in across.labels(7)
    )
    names = Markup('<text class="name" x="{}" y="{}">{}</text>').format(
        LEFT + (right - LEFT) / 2, chart.height - 4, chart.x_label
    )
    return Markup().join((*lines, Markup('<g class="across">{}</g>').format(ticks), names))


def _series(series: Dots, across: Scale, up: Scale, wide: int, high: int) -> Markup:
    indices = [i for i in downsample(series.ys, MAX_POINTS) if math.isfinite(series.ys[i])]
    xs = [wide * across.place(series.xs[i]) for i in indices]
    ys = [high * (1 - up.place(series.ys[i])) for i in indices]
    if series.line:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        return Markup('<polyline class="line {}" points="{}"/>').format(series.style, path)
    points = (_point(series, i, x, y, up, high) for i, x, y in zip(indices, xs, ys, strict=True))
    return Markup("".join(points))


def _point(series: Dots, i: int, x: float, y: float, up: Scale, high: int) -> str:
    """A line without length and with round ends: a dot that stays round when zoomed. Only the
    tooltip needs escaping: the rest are numbers."""
    title = f"<title>{escape(series.tooltip(i))}</title>" if series.tooltip else ""
    dot = f'<path class="dot {series.style}" d="M{x:.1f} {y:.1f}h0">{title}</path>'
    if not series.lows or not math.isfinite(series.lows[i]):
        return dot
    ends = [high * (1 - up.place(at)) for at in (series.lows[i], series.highs[i])]
    seen = [min(max(end, 0.0), float(high)) for end in ends]
    whisker = f'd="M{x:.1f} {seen[0]:.1f}V{seen[1]:.1f}"'
    marks = "".join(
        f'<path class="clipped" d="M{x - 5:.1f} {at:.1f}h10">{CLIPPED}</path>'
        for end, at in zip(ends, seen, strict=True)
        if abs(end - at) > 0.5
    )
    return f'<path class="whisker {series.style}" {whisker}/>{marks}{dot}'


def _level(level: Level, across: Scale, up: Scale, wide: int, high: int) -> Markup:
    left, right = wide * across.place(level.start), wide * across.place(level.end)
    y = high * (1 - up.place(level.value))
    line = Markup('<path class="level" d="M{:.1f} {:.1f}H{:.1f}"/>').format(left, y, right)
    if not math.isfinite(level.low):
        return line
    top, bottom = (high * (1 - up.place(at)) for at in (level.high, level.low))
    band = Markup('<rect class="band" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>')
    return band.format(left, top, max(right - left, 1), max(bottom - top, 1)) + line


def _mark(mark: Mark, across: Scale, wide: int, high: int) -> Markup:
    return Markup('<path class="mark" d="M{:.1f} 0V{}"><title>{}</title></path>').format(
        wide * across.place(mark.x), high, mark.text
    )


def _legend(chart: Chart) -> Markup:
    names = [series for series in chart.series if series.name]
    keys: Iterable[Markup] = (
        Markup('<span class="key {}">{}</span>').format(series.style, series.name)
        for series in (names if len(names) > 1 else ())
    )
    return escape(chart.y_label or chart.title) + Markup(" ") + Markup(" ").join(keys)
