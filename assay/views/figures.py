"""Results as figures. matplotlib is loaded when one is drawn, and never shows a window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from assay.errors import NotPossibleError, UsageError
from assay.records import Result, Samples

SUFFIXES = (".png", ".svg", ".pdf")
COLORS = {"warmup": "#b0b0b0", "steady": "#1f6fb4", "first": "#d0582a"}
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


def checked(path: Path) -> Path:
    """A path a figure can be written to; said before anything is read or drawn."""
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"'{path.name}' is no figure file, which ends in .png, .svg or .pdf.",
            hint="Write -o figure.png",
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(
            f"The folder {path.parent} is not there.", hint="Make it first, or choose another."
        )
    return path


def process(rows: Sequence[Row], title: str, path: Path) -> None:
    """Memory and CPU over time, and GPUs where they were seen."""
    if not rows:
        raise UsageError(
            f"{title} has no process series.", hint="It ended too early, or the file is none."
        )
    panels = [panel for panel in _PANELS if any(name in row for row in rows for name in panel[1])]
    figure = _figure(2.0 + 1.8 * len(panels))
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
    figure.savefig(path)


def samples(results: Sequence[Result], path: Path) -> None:
    """Every step time as it came, its phase by colour, and the steady ones as a histogram.

    Several results stand below each other; those without a step time are named at the foot.
    """
    shown = [result for result in results if _step_times(result)]
    without = [f"{r.id} ({r.status})" for r in results if not _step_times(r)]
    if not shown:
        raise UsageError(
            f"There are no step times to draw: {', '.join(without) or 'no result'}.",
            hint="Plot --series process, or another result; assay list results shows them.",
        )
    figure = _figure(1.8 + 3.0 * len(shown))
    axes = figure.subplots(len(shown), 2, sharey="row", squeeze=False, width_ratios=(4, 1))
    for (left, right), result in zip(axes, shown, strict=True):
        _samples(left, right, result)
    axes[-1][0].set_xlabel("seconds since the worker opened the case")
    axes[-1][1].set_xlabel("samples")
    if without:
        figure.supxlabel(f"without step times: {', '.join(without)}", fontsize="small")
    figure.savefig(path)


def _samples(left: Any, right: Any, result: Result) -> None:  # noqa: ANN401
    for phase in ("warmup", "steady"):
        _dots(left, [p for p in _step_times(result) if p.phase == phase], phase)
    steady = [1e3 * v for v in result.values("step_time")]
    if steady:
        middle = median(steady)
        left.axhline(middle, color="black", linewidth=0.8)
        right.hist(steady, bins=40, orientation="horizontal", color=COLORS["steady"])
        right.axhline(middle, color="black", linewidth=0.8)
        right.set_title(f"median {middle:.4g} ms", loc="left", fontsize="medium")
    left.set_ylabel("step time (ms)")
    left.legend(frameon=False)
    left.set_title(f"{result.case.key}  ({result.id})", loc="left", fontsize="medium")


def _step_times(result: Result) -> list[Samples]:
    return [p for p in result.samples if p.metric == "step_time" and p.values]


def _dots(axis: Any, parts: list[Samples], phase: str) -> None:  # noqa: ANN401
    """Of each process where it began; without start times, in order."""
    xs = [x for p in parts for x in (p.starts or range(len(p.values)))]
    ys = [1e3 * y for p in parts for y in p.values]
    if ys:
        axis.plot(xs, ys, ".", markersize=4, color=COLORS[phase], label=phase)


def _line(axis: Any, rows: Sequence[Row], name: str, legend: str, scale: float) -> None:  # noqa: ANN401
    """A line for each process of the case: where time starts again, so does the line."""
    runs: list[list[tuple[float, float]]] = []
    for row in rows:
        if name not in row:
            continue
        if not runs or row["time"] < runs[-1][-1][0]:
            runs.append([])
        runs[-1].append((row["time"], scale * row[name]))
    # what was looked at rarely is shown as points: nobody saw what was between them
    style = "o" if 2 * sum(map(len, runs)) < len(rows) else "-"
    color = None
    for run in runs:
        drawn = axis.plot(*zip(*run, strict=True), style, color=color, linewidth=1.2)[0]
        if color is None and legend:
            drawn.set_label(legend)
        color = drawn.get_color()


def _figure(height: float) -> Any:  # noqa: ANN401 (a matplotlib Figure)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise NotPossibleError(
            "Figures need matplotlib, which is not installed here.",
            hint="pip install 'assay[plot]'",
        ) from None
    return Figure(figsize=(8.0, height), dpi=120, layout="constrained")
