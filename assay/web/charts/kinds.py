"""The charts of the pages: a distribution, samples over time, a ranking of ratios."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec
from markupsafe import Markup

from assay.core.findings import SummarizedResult
from assay.core.records import LONGEST_STEP
from assay.core.units import human
from assay.web.charts.scale import make_scale
from assay.web.charts.svg import (
    CLIPPED,
    FOOT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Chart,
    Dots,
    clip_ends,
    render_chart,
)

BINS = 48
ROW_HEIGHT = 22  # height of a contender's row


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """One row of a chart of ratios."""

    name: str
    value: float
    low: float = math.nan
    high: float = math.nan


class CostPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A case by its speed and what that costs."""

    name: str
    id: str  # of its result
    rate: float  # items/s
    cost: float


def pareto_front(priced: Sequence[CostPoint]) -> list[CostPoint]:
    """Pareto front: cases that no other beats in both, fastest first."""
    best: list[CostPoint] = []
    for point in sorted(priced, key=lambda point: (-point.rate, point.cost)):
        if not best or point.cost < best[-1].cost:
            best.append(point)
    return best


def front_chart(title: str, priced: Sequence[CostPoint], unit: str) -> Markup:
    best = pareto_front(priced)
    rest = [point for point in priced if point not in best]
    line = Dots(name="", xs=[o.rate for o in best], ys=[o.cost for o in best], line=True)
    dots = [
        Dots(
            name=name,
            xs=[point.rate for point in points],
            ys=[point.cost for point in points],
            tooltip=partial(_priced_text, points, unit),
            style=style,  # type: ignore[arg-type]
        )
        for name, points, style in (("others", rest, "muted"), ("best", best, "b"))
    ]
    chart = Chart(title=title, series=(line, *dots), x_label="items per second", unit=unit)
    return render_chart(chart)


def _priced_text(priced: Sequence[CostPoint], unit: str, i: int) -> str:
    point = priced[i]
    return f"{point.name}: {human(point.rate, '')} items/s, {human(point.cost, unit)}"


def samples_chart(reading: SummarizedResult) -> Markup:
    """Every step time in order, by phase."""
    styles = {"first": "c", "warmup": "muted", "steady": "a"}
    parts: dict[str, tuple[list[float], list[float]]] = {phase: ([], []) for phase in styles}
    for part in reading.result.measured_only().samples:
        if part.metric == "step_time" and part.phase in parts and part.starts:
            xs, ys = parts[part.phase]
            xs.extend(part.starts)
            ys.extend(value if value < LONGEST_STEP else math.nan for value in part.values)
    if parts["steady"][1]:  # the first step compiles and would flatten the rest
        del parts["first"]
    series = tuple(
        Dots(
            name=phase,
            xs=xs,
            ys=ys,
            tooltip=partial(_sample_text, phase, xs, ys),
            style=styles[phase],  # type: ignore[arg-type]
        )
        for phase, (xs, ys) in parts.items()
    )
    return render_chart(
        Chart(
            title="step time of every sample",
            series=series,
            x_label="seconds since the worker opened the case",
            x_unit="s",
            unit="s",
        )
    )


def _sample_text(phase: str, xs: Sequence[float], ys: Sequence[float], i: int) -> str:
    return f"{phase}: {human(ys[i], 's')} at {xs[i]:.3g} s"


def repeats_chart(name: str, values: Sequence[float], unit: str) -> Markup:
    """One metric, repeat by repeat."""
    dots = Dots(
        name="",
        xs=range(1, len(values) + 1),
        ys=values,
        tooltip=lambda i: f"{i + 1}: {human(values[i], unit)}",
    )
    return render_chart(Chart(title=name, series=(dots,), x_label="repeat", unit=unit, height=180))


def distribution_chart(values: Sequence[float], unit: str) -> Markup:
    """Histogram without the lowest and highest 2 %."""
    ordered = sorted(value for value in values if math.isfinite(value))
    edge = len(ordered) // 50
    ordered = ordered[edge : len(ordered) - edge]
    if len(ordered) < 2 or ordered[0] == ordered[-1]:
        return Markup()
    scale = make_scale(ordered, unit, room=0.0)
    counts = [0] * min(BINS, max(4, len(ordered) // 4))
    for value in ordered:
        counts[min(len(counts) - 1, int(scale.place(value) * len(counts)))] += 1
    return _histogram(counts, scale.low, scale.high, unit)


def _histogram(counts: Sequence[int], low: float, high: float, unit: str) -> Markup:
    tall, wide = 120, (WIDTH - LEFT - RIGHT) / len(counts)
    bars = Markup().join(
        Markup(
            '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}">'
            "<title>{}</title></rect>"
        ).format(
            LEFT + index * wide,
            TOP + tall * (1 - count / max(counts)),
            wide * 0.92,
            tall * count / max(counts),
            f"{count} from {human(low + (high - low) * index / len(counts), unit)}",
        )
        for index, count in enumerate(counts)
    )
    scale = make_scale([low, high], unit, room=0.0)
    labels = Markup().join(
        Markup('<text x="{:.1f}" y="{}">{}</text>').format(
            LEFT + (WIDTH - LEFT - RIGHT) * scale.place(tick), TOP + tall + 16, text
        )
        for tick, text in scale.labels(7)
    )
    return Markup(
        '<figure class="chart"><svg viewBox="0 0 {} {}" role="img" aria-label="distribution of '
        'the samples that count">{}{}</svg><figcaption>how often</figcaption></figure>'
    ).format(WIDTH, TOP + tall + FOOT - 16, bars, labels)


def ratios_chart(title: str, rows: Sequence[Ratio], minimum: float = 0.0) -> Markup:
    """One row per contender: its ratio with interval, on a logarithmic axis around 1."""
    shown = [row for row in rows if math.isfinite(row.value) and row.value > 0]
    if not shown:
        return Markup()
    values = [math.log(row.value) for row in shown] + [0.0]
    ends = [math.log(end) for row in shown for end in (row.low, row.high) if 0 < end < math.inf]
    seen = [math.exp(end) for end in (*values, *clip_ends(values, ends))]
    scale = make_scale([*seen, 1 / (1 + minimum), 1 + minimum], kind="log")
    left, height = 290, TOP + ROW_HEIGHT * len(shown) + FOOT - 16
    wide = WIDTH - left - 76

    def at(value: float) -> float:
        return left + wide * min(1.0, max(0.0, scale.place(value)))

    band = Markup('<rect class="band" x="{:.1f}" y="{}" width="{:.1f}" height="{}"/>').format(
        at(1 / (1 + minimum)), TOP, at(1 + minimum) - at(1 / (1 + minimum)), ROW_HEIGHT * len(shown)
    )
    mark = Markup('<path class="mark" d="M{:.1f} {}v{}"/>').format(
        at(1.0), TOP, ROW_HEIGHT * len(shown)
    )
    lines = Markup().join(
        _ratio_row(row, TOP + ROW_HEIGHT * (number + 0.5), left, at)
        for number, row in enumerate(shown)
    )
    labels = Markup().join(
        Markup('<text x="{:.1f}" y="{}">{:.3g}</text>').format(at(tick), height - 6, tick)
        for tick in scale.ticks(5)
    )
    return Markup(
        '<figure class="chart"><svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}{}{}{}</svg>'
        "<figcaption>{}</figcaption></figure>"
    ).format(WIDTH, height, title, band, mark, lines, labels, title)


def _ratio_row(row: Ratio, y: float, left: int, at: object) -> Markup:
    assert callable(at)
    low, high = (end if math.isfinite(end) else row.value for end in (row.low, row.high))
    name = row.name if len(row.name) <= 30 else f"{row.name[:14]}…{row.name[-15:]}"
    return Markup(
        '<text class="up" x="{}" y="{:.1f}">{}<title>{}</title></text>'
        '<path class="whisker a" d="M{:.1f} {:.1f}H{:.1f}"/>{}'
        '<path class="dot a" d="M{:.1f} {:.1f}h0"/><text class="value" x="{}" y="{:.1f}">{:.3f}'
        "</text>"
    ).format(
        *(left - 8, y + 4, name, row.name, at(low), y, at(high)),
        _clip_marks(row, (at(low), at(high)), (at(0.0), at(math.inf)), y),
        *(at(row.value), y),
        *(WIDTH - 70, y + 4, row.value),
    )


def _clip_marks(
    row: Ratio, ends: tuple[float, float], edges: tuple[float, float], y: float
) -> Markup:
    """A mark where an interval is wider than the chart."""
    if not (math.isfinite(row.low) and math.isfinite(row.high)):
        return Markup()
    return Markup().join(
        Markup('<path class="clipped" d="M{:.1f} {:.1f}v10">').format(end, y - 5)
        + Markup(CLIPPED)
        + Markup("</path>")
        for end, edge in zip(ends, edges, strict=True)
        if end == edge
    )


def process_charts(rows: Sequence[Mapping[str, float]]) -> list[Markup]:
    """Memory, CPU and GPU over time, as the monitors saw them."""
    panels = (
        ("memory of all processes of the case", "rss", "B"),
        ("CPU, per cent of a core", "cpu_percent", "%"),
        ("GPU memory", "gpu_memory", "B"),
        ("GPU use", "gpu_utilization", "%"),
        ("GPU power", "gpu_power", "W"),
    )
    charts = []
    for title, metric, unit in panels:
        seen = [(row["time"], row[metric]) for row in rows if metric in row and "time" in row]
        if len(seen) > 1:
            xs, ys = zip(*seen, strict=True)
            line = Dots(name="", xs=xs, ys=ys, line=True)
            chart = Chart(
                title=title, series=(line,), unit=unit, x_unit="s", from_zero=True, height=160
            )
            charts.append(render_chart(chart))
    return charts
