"""Results as figures. matplotlib is loaded when one is drawn, and never shows a window."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from assay.commands.race.ranking import Race
from assay.core.errors import UsageError
from assay.core.files import check_output
from assay.core.findings import SummarizedResult
from assay.core.records import Result, Samples
from assay.reporting.figure import COLORS, new_figure, save_figure
from assay.stats.paired_ratio import Comparison

SUFFIXES = (".png", ".svg", ".pdf")
Row = dict[str, float]

# Panels of the process figure: label, and metric → name and scale. VMS would dwarf the rest.
_PANELS: tuple[tuple[str, dict[str, tuple[str, float]]], ...] = (
    (
        "memory (MiB)",
        {
            "rss": ("RSS, whole tree", 2.0**-20),
            "pss": ("PSS", 2.0**-20),
            "gpu_memory": ("GPU, this case", 2.0**-20),
        },
    ),
    ("CPU (% of a core)", {"cpu_percent": ("", 1.0)}),
    ("GPU use (%)", {"gpu_utilization": ("", 1.0)}),
    ("GPU power (W)", {"gpu_power": ("", 1.0)}),
)


def check_figure_path(path: Path) -> Path:
    """The path, if a figure can be written to it; fails before anything is read or drawn."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"'{path.name}' is no figure file, which ends in .png, .svg or .pdf.",
            hint="Write -o figure.png",
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(
            f"The folder {path.parent} does not exist.", hint="Create it, or choose another."
        )
    check_output(path)
    return path


def process(rows: Sequence[Row], title: str, path: Path) -> None:
    """Memory and CPU over time, and GPUs where they were seen."""
    if not rows:
        raise UsageError(
            f"{title} has no process series.", hint="It ended too early, or the file is none."
        )
    panels = [panel for panel in _PANELS if any(name in row for row in rows for name in panel[1])]
    figure = new_figure(2.0 + 1.8 * len(panels))
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, (label, metrics) in zip(axes, panels, strict=True):
        for name, (legend, scale) in metrics.items():
            _line(axis, rows, name, legend, scale)
        axis.set_ylabel(label)
        axis.set_ylim(bottom=0)
        if axis.get_legend_handles_labels()[1]:
            axis.legend(loc="lower right", frameon=False)
    axes[-1].set_xlabel("seconds since the worker started")
    axes[0].set_title(title, loc="left")
    save_figure(figure, path)


def samples(readings: Sequence[SummarizedResult], path: Path) -> None:
    """Every step time in order, coloured by phase, with a histogram of the steady ones.

    Several results are stacked; those without a step time are named at the bottom.
    """
    shown = [reading for reading in readings if _step_times(reading.result)]
    if not shown and any(reading.result.samples for reading in readings):
        metrics(readings, path)
        return
    without = [f"{r.result.id} ({r.result.status})" for r in readings if not _step_times(r.result)]
    if not shown:
        raise UsageError(
            f"There are no step times to draw: {', '.join(without) or 'no result'}.",
            hint="Plot --series process, or another result; assay list results shows them.",
        )
    figure = new_figure(1.8 + 3.0 * len(shown))
    shared = "all" if _near(shown) else "row"
    axes = figure.subplots(len(shown), 2, sharey=shared, squeeze=False, width_ratios=(4, 1))
    for (left, right), reading in zip(axes, shown, strict=True):
        _samples(left, right, reading)
    axes[-1][0].set_xlabel("seconds since the worker opened the case")
    axes[-1][1].set_xlabel("samples")
    if without:
        figure.supxlabel(f"without step times: {', '.join(without)}", fontsize="small")
    save_figure(figure, path)


def comparison(comparison: Comparison, path: Path) -> None:
    """The ratio of each pair, the overall ratio with its interval, and the band of no change."""
    _check_any(len(comparison.pairs), comparison.run)
    figure = new_figure(4.0)
    axis = figure.subplots()
    numbers = range(1, len(comparison.pairs) + 1)
    axis.axhspan(
        1 / (1 + comparison.minimum), 1 + comparison.minimum, color="#e8e8e8", label="no change"
    )
    axis.axhspan(comparison.ratio.low, comparison.ratio.high, color=COLORS["steady"], alpha=0.2)
    axis.axhline(
        comparison.ratio.value, color=COLORS["steady"], label=f"{comparison.ratio.value:.4g}"
    )
    axis.plot(numbers, [pair.ratio for pair in comparison.pairs], "o", color="black", label="pairs")
    axis.set_xlabel("pair of processes")
    axis.set_ylabel(f"{comparison.metric}: candidate / baseline")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.set_title(
        f"{comparison.candidate}\nagainst {comparison.baseline}", loc="left", fontsize="medium"
    )
    axis.legend(frameon=False)
    save_figure(figure, path)


def race(race: Race, path: Path) -> None:
    """Every contender's time over the leader's, with its interval, the fastest on top."""
    places = [place for place in race.places if math.isfinite(place.ratio.value)]
    _check_any(len(places), race.run)
    figure = new_figure(1.5 + 0.4 * len(places))
    axis = figure.subplots()
    for row, place in enumerate(places):
        ratio, color = place.ratio, COLORS["steady" if place.state == "in" else "warmup"]
        axis.plot(ratio.value, row, "o", color=color)
        if ratio.low > 0 and math.isfinite(ratio.high):
            axis.plot([ratio.low, ratio.high], [row, row], color=color)
    axis.set_yticks(range(len(places)), [place.key for place in places])
    axis.invert_yaxis()
    _ratio_ticks(axis)
    axis.set_xlabel(f"{race.metric} over that of the fastest")
    save_figure(figure, path)


def _ratio_ticks(axis: Any) -> None:
    """`0.9 x`, `1 x`, `1.1 x`; of more than a decade 1, 2 and 5, of more than two 1 alone."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    axis.set_xscale("log")
    low, high = axis.get_xlim()
    subs = (1, 2, 5) if high < 100 * low else (1,)
    near = MaxNLocator(6, steps=[1, 2, 5, 10])
    axis.xaxis.set_major_locator(near if high < 10 * low else LogLocator(subs=subs))
    axis.xaxis.set_major_formatter("{x:g} x")
    axis.xaxis.set_minor_formatter(NullFormatter())


def metrics(readings: Sequence[SummarizedResult], path: Path) -> None:
    """For results without step times (trainings, tasks): the values of each metric."""
    names = dict.fromkeys(
        (part.metric, part.unit)
        for reading in readings
        for part in reading.result.samples
        if part.phase == "steady"
    )
    _check_any(len(names), ", ".join(reading.result.id for reading in readings))
    figure = new_figure(1.5 + 2.0 * len(names))
    axes = figure.subplots(len(names), 1, squeeze=False, sharex=True)[:, 0]
    for axis, (name, unit) in zip(axes, names, strict=True):
        for reading in readings:
            values = reading.result.values(name)
            axis.plot(range(1, len(values) + 1), values, "o-", label=reading.result.case.key)
        axis.set_ylabel(f"{name} ({unit})" if unit else name)
    axes[-1].xaxis.get_major_locator().set_params(integer=True)
    axes[-1].set_xlabel("epoch or repeat")
    axes[0].legend(frameon=False, fontsize="small")
    save_figure(figure, path)


def _check_any(count: int, what: str) -> None:
    if not count:
        raise UsageError(
            f"{what} has nothing to draw yet.", hint="assay list results shows what there is."
        )


def _near(readings: Sequence[SummarizedResult]) -> bool:
    """Whether one axis can show them all."""
    steps = [r.measured_only["step_time"].value for r in readings if "step_time" in r.measured_only]
    return not steps or max(steps) < 5 * min(steps)


def _samples(left: Any, right: Any, reading: SummarizedResult) -> None:
    result = reading.result
    for phase in ("warmup", "steady"):
        _dots(left, [p for p in _step_times(result) if p.phase == phase], phase)
    counted = [1e3 * value for part in reading.steady_values() for value in part]
    step = reading.measured_only.get("step_time")
    if step and counted:
        middle = 1e3 * step.value
        left.axhline(middle, color="black", linewidth=0.8)
        right.hist(counted, bins=40, orientation="horizontal", color=COLORS["steady"])
        right.axhline(middle, color="black", linewidth=0.8)
        right.set_title(f"{middle:.4g} ms", loc="left", fontsize="medium")
        _keep_in_view(left, counted)
    left.set_ylabel("step time (ms)")
    left.legend(frameon=False)
    left.set_title(f"{result.case.key}  ({result.id})", loc="left", fontsize="medium")


def _keep_in_view(axis: Any, counted: Sequence[float]) -> None:
    """A few outliers must not flatten the rest: the axis ends above most, and says how many are
    beyond it."""
    ordered = sorted(counted)
    usual = ordered[max(0, int(0.99 * len(ordered)) - 1)]
    top = usual + 3 * (usual - ordered[0] or 0.1 * usual)
    beyond = sum(value > top for value in ordered)
    if beyond:
        axis.set_ylim(top=top)
        axis.text(1, 1, f"{beyond} beyond", ha="right", va="top", transform=axis.transAxes)


def _step_times(result: Result) -> list[Samples]:
    return [p for p in result.measured_only().samples if p.metric == "step_time" and p.values]


def _dots(axis: Any, parts: list[Samples], phase: str) -> None:
    """Of each process where it began; without start times, in order."""
    xs = [x for p in parts for x in (p.starts or range(len(p.values)))]
    ys = [1e3 * y for p in parts for y in p.values]
    if ys:
        axis.plot(xs, ys, ".", markersize=4, color=COLORS[phase], label=phase)


def _line(axis: Any, rows: Sequence[Row], name: str, legend: str, scale: float) -> None:
    """A line for each process of the case: where time starts again, so does the line."""
    runs: list[list[tuple[float, float]]] = []
    for row in rows:
        if name not in row:
            continue
        if not runs or row["time"] < runs[-1][-1][0]:
            runs.append([])
        runs[-1].append((row["time"], scale * row[name]))
    # rarely sampled series are points: nothing is known between them
    style = "o" if 2 * sum(map(len, runs)) < len(rows) else "-"
    color = None
    for run in runs:
        drawn = axis.plot(*zip(*run, strict=True), style, color=color, linewidth=1.2)[0]
        if color is None and legend:
            drawn.set_label(legend)
        color = drawn.get_color()
