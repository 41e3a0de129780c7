"""A series as a chart of letters: one column for a few points, with their spread."""

from __future__ import annotations

import math
from collections.abc import Sequence

from assay.core.units import human

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
