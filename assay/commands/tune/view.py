"""A tuning → its front as a table and a chart, its JSON document, and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from assay.core.findings import Output, Table
from assay.core.units import human, plural, span
from assay.native.tuner.records import TunedPoint, Tuning
from assay.reporting.figure import COLORS, new_figure, save_figure

HEIGHT, WIDTH = 10, 60
CHOSEN, PROMISED, OTHER = "◆", "●", "○"
COLUMNS = (
    "point",
    "speed-up",
    "interval",
    "time",
    "accuracy",
    "95 % interval",
    "lost",
    "interval of loss",
    "at most",
    "weights",
    "energy",
    "knobs",
)


def output(tuning: Tuning) -> Output:
    return Output(
        tables=(front_table(tuning),),
        header="\n".join(front_chart(tuning.points, tuning)),
        document=msgspec.to_builtins(tuning),
        values=_values(tuning),
    )


def front_table(tuning: Tuning) -> Table:
    measured = any(point.energy is not None for point in tuning.points)
    chosen = tuple(name for name in COLUMNS if measured or name != "energy")
    rows = [dict(zip(COLUMNS, _row(point, tuning), strict=True)) for point in tuning.points]
    return Table(
        title=f"{tuning.model}: at most {plural(tuning.max_loss, 'point')} lost, "
        f"batch {tuning.batch}, one thread; tuned in {human(tuning.seconds, 's')}",
        columns=chosen,
        rows=tuple(tuple(row[name] for name in chosen) for row in rows),
        numeric=frozenset(chosen) - {"point", "knobs"},
        notes=(*_promise(tuning), *tuning.notes),
        spare=("interval of loss", "95 % interval", "interval"),
    )


def front_chart(points: Sequence[TunedPoint], tuning: Tuning) -> list[str]:
    """Accuracy upwards, speed to the right."""
    speeds = [point.speedup for point in points]
    rates = [point.accuracy for point in points]
    left, right, low, high = min(speeds), max(speeds), min(rates), max(rates)
    grid = [[" "] * (WIDTH + 1) for _ in range(HEIGHT)]
    for point in points:
        column = round(WIDTH * (point.speedup - left) / ((right - left) or 1.0))
        row = round((HEIGHT - 1) * (high - point.accuracy) / ((high - low) or 1.0))
        grid[row][column] = _mark(point, tuning)
    labels = {0: f"{high:.2f} %", HEIGHT - 1: f"{low:.2f} %"}
    room = max(map(len, labels.values()))
    lines = [f"{labels.get(n, ''):>{room}} ┤{''.join(row)}".rstrip() for n, row in enumerate(grid)]
    axis = f"{left:.2f}".ljust(WIDTH - 4) + f"{right:.2f} times as fast"
    legend = f"{CHOSEN} chosen   {PROMISED} within the loss   {OTHER} may lose more"
    return [*lines, f"{'':>{room}} └{'─' * (WIDTH + 1)}", f"{'':>{room}}  {axis}", legend]


def figure(tuning: Tuning, path: Path) -> None:
    """Accuracy over speed with both intervals."""
    canvas = new_figure(4.5)
    axis = canvas.subplots()
    for point in tuning.points:
        color = COLORS["steady"] if point.promised else COLORS["warmup"]
        across = [[point.speedup - point.speedup_low], [point.speedup_high - point.speedup]]
        up = [[point.accuracy - point.accuracy_low], [point.accuracy_high - point.accuracy]]
        shape = "D" if point.name == tuning.chosen else "o"
        axis.errorbar([point.speedup], [point.accuracy], up, across, fmt=shape, color=color)
        axis.annotate(
            point.name, (point.speedup, point.accuracy), (6, 6), textcoords="offset points"
        )
    allowed = tuning.points[0].accuracy - tuning.max_loss
    axis.axhline(allowed, color=COLORS["first"], linestyle=":", label="maximum loss")
    axis.set_xlabel("times as fast as float32")
    axis.set_ylabel("accuracy on test images (%)")
    axis.set_title(f"{tuning.model}, batch {tuning.batch}", loc="left")
    axis.legend(frameon=False)
    save_figure(canvas, path)


def _row(point: TunedPoint, tuning: Tuning) -> tuple[str, ...]:
    lost = point.test
    return (
        f"{point.name} {_mark(point, tuning)}",
        f"{point.speedup:.2f}",
        span(point.speedup_low, point.speedup_high, "{:.2f}".format),
        human(point.seconds, "s"),
        f"{point.accuracy:.2f} %",
        span(point.accuracy_low, point.accuracy_high, "{:.2f}".format),
        f"{lost.points:.2f}",
        span(lost.low, lost.high, "{:.2f}".format),
        f"{point.confirmed.bound:.2f}" if point.knobs else "0",
        human(point.memory, "B"),
        human(point.energy, "J") if point.energy is not None else "",
        point.words,
    )


def _mark(point: TunedPoint, tuning: Tuning) -> str:
    if point.name == tuning.chosen:
        return CHOSEN
    return PROMISED if point.promised else OTHER


def headline(tuning: Tuning) -> str:
    best = tuning.best
    return (
        f"{best.name}: {best.speedup:.2f} times as fast; it loses at most "
        f"{max(best.confirmed.bound, 0.0):.2f} points on unseen images, at 95 %"
    )


def _promise(tuning: Tuning) -> tuple[str, ...]:
    counts = tuning.pictures
    return (
        f"{CHOSEN} {headline(tuning)}",
        "points, accuracy and loss are of "
        f"{counts['test']} test images that played no part in the choice; 'at most' is of "
        f"{counts['confirming']} others, from the safest point on",
    )


def _values(tuning: Tuning) -> Table:
    speed = ("name", "speedup", "speedup_low", "speedup_high", "seconds", "memory", "promised")
    fields = (*speed, "predicted", "accuracy", "accuracy_low", "accuracy_high")
    return Table(
        columns=(*fields, "loss", "loss_low", "loss_high", "bound"),
        rows=tuple(
            (
                *(str(getattr(point, field)) for field in fields),
                *(str(getattr(point.test, field)) for field in ("points", "low", "high")),
                str(point.confirmed.bound),
            )
            for point in tuning.points
        ),
    )
