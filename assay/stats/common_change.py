"""Changes of all series of a machine at once: another clock, a neighbour, a weekend.

Of each day, the median over the series of how far they are from their levels. Where it is clear,
it is taken away before a series is judged, because it says nothing about that series; a new one is
reported for the machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from assay.core.series import Point
from assay.core.units import percent_change

MIN_SERIES = 5  # of a machine, measured on that day
CLEAR = 5.0  # standard errors of the median over the series
SMALLEST = 0.01  # logarithm; smaller common changes are left in
NEWEST = 10  # days in which a change is new
USUAL = 2  # earlier days that were as slow: a weekend is not a change
MAD = 1.4826  # makes the median absolute deviation a standard deviation of normal values
MEDIAN_ERROR = 1.2533  # of a median of normal values, in standard errors of the mean


class CommonSeries(NamedTuple):
    """Points of a series, and which side is worse."""

    points: Sequence[Point]
    higher_is_worse: bool


class MachineChange(NamedTuple):
    """A machine on which most series got worse."""

    machine: str
    size: float  # time over time before
    since: str  # day
    series: int

    @property
    def text(self) -> str:
        place = self.machine or "this machine"
        return (
            f"most of {self.series} series on {place} are slower by {percent_change(self.size)} "
            f"since {self.since}: the machine changed, or what all share"
        )


def day_changes(series: Sequence[CommonSeries]) -> dict[str, float]:
    """Day → logarithm of the slowdown that its series have in common, where it is clear."""
    days: dict[str, list[float]] = {}
    for points, higher in series:
        values = np.array([point.value for point in points])
        if len(values) < 2 or values.min() <= 0:
            continue
        before = values[: max(len(values) - NEWEST, (len(values) + 1) // 2)]
        logs = np.log(values / np.median(before)) * (1 if higher else -1)
        for point, change in zip(points, logs.tolist(), strict=True):
            days.setdefault(point.started[:10], []).append(change)
    return {
        day: change for day, changes in sorted(days.items()) if (change := _common(changes)) != 0
    }


def _common(changes: Sequence[float]) -> float:
    if len(changes) < MIN_SERIES:
        return 0.0
    middle = float(np.median(changes))
    scatter = MAD * float(np.median(np.abs(np.array(changes) - middle)))
    error = MEDIAN_ERROR * scatter / math.sqrt(len(changes))
    return middle if abs(middle) > max(CLEAR * error, SMALLEST) else 0.0


def without(series: CommonSeries, changes: Mapping[str, float]) -> list[Point]:
    """The points as if the machine had not changed."""
    side = 1 if series.higher_is_worse else -1
    adjusted = []
    for point in series.points:
        factor = math.exp(-side * changes.get(point.started[:10], 0.0))
        numbers = {name: getattr(point, name) * factor for name in ("value", "low", "high")}
        adjusted.append(point._replace(**numbers) if factor != 1 else point)
    return adjusted


def new_change(
    machine: str, series: Sequence[CommonSeries], changes: Mapping[str, float], least: float
) -> MachineChange | None:
    """Of the newest day, if it is worse by at least `least` and few earlier days were."""
    days = sorted({point.started[:10] for points, _ in series for point in points})
    newest, earlier = days[-NEWEST:], days[:-NEWEST]
    change = changes.get(days[-1], 0.0) if days else 0.0
    if change < math.log1p(least):
        return None
    if sum(changes.get(day, 0.0) > 0.7 * change for day in earlier) >= USUAL:
        return None
    since = days[-1]
    for day in reversed(newest):
        if changes.get(day, 0.0) < 0.5 * change:
            break
        since = day
    count = sum(points[-1].started[:10] == days[-1] for points, _ in series if points)
    return MachineChange(machine, math.exp(change), since, count)
