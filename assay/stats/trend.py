"""A series of results → its shifts and its drift, each with a size and how sure it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from assay.core.series import Point
from assay.stats import changepoints, intervals
from assay.stats.changepoints import LONGEST, MIN_POINTS, line_p_value, step_p_value
from assay.stats.intervals import Array
from assay.stats.large_steps import p_value, smallest_ratio
from assay.stats.shift_search import LEVEL, MIN_DRIFT_POINTS, STRAIGHT, Track, find, fitted_at

WINDOW = 128  # points that a new one is held against
LOOKS = 10  # a look at every new point errs about so much more often than a single one


class History(NamedTuple):
    """What was found; `segments` are the stretches between shifts, first and behind the last."""

    shifts: tuple[Shift, ...]
    drifts: tuple[Drift, ...]
    segments: tuple[tuple[int, int], ...]


def track(points: Sequence[Point]) -> Track:
    numbers = np.array([(p.value, p.low, p.high) for p in points], dtype=np.float64).reshape(-1, 3)
    values, lows, highs = numbers.T
    logs = bool((values > 0).all())
    if logs:
        with np.errstate(invalid="ignore", divide="ignore"):
            values, lows, highs = np.log(values), np.log(lows), np.log(highs)
    known = np.isfinite(lows) & np.isfinite(highs)
    lows, highs = np.where(known, lows, values), np.where(known, highs, values)
    return Track(values, changepoints.extra_variance(values, lows, highs), logs)


def history(points: Sequence[Point], level: float = LEVEL) -> History:
    """Shifts at which the level changed for good, and drifts between them."""
    whole = track(points)
    places = find(whole, level)
    edges = [0, *places, len(points)]
    segments = tuple(itertools.pairwise(edges))
    shifts = tuple(
        _shift(whole, points, (segments[n][0], place, segments[n + 1][1]), level)
        for n, place in enumerate(places)
    )
    drifts = tuple(filter(None, (_drift(whole, points, part, level) for part in segments)))
    return History(shifts, drifts, segments)


class Tracker:
    """A series that grows: a new point costs the same, however long the series is."""

    def __init__(self, level: float = LEVEL) -> None:
        self.window: list[Point] = []  # since the last shift, and not more than WINDOW
        self.count = 0
        self._level = level / LOOKS

    def append(self, point: Point) -> int:
        """The place of a shift that this point makes clear, counted from 0; 0 where there is none.

        The points before a shift are forgotten; it is told once.
        """
        self.window = [*self.window[-WINDOW + 1 :], point]
        self.count += 1
        if len(self.window) < MIN_POINTS:
            return 0
        fitted = changepoints.fit(*(part[None] for part in track(self.window)[:2]))
        if step_p_value(fitted.score, len(self.window))[0] >= self._level:
            return 0
        self.window = self.window[int(fitted.place[0]) :]
        return self.count - len(self.window)


def _shift(
    whole: Track, points: Sequence[Point], around: tuple[int, int, int], level: float
) -> Shift:
    """Its p-value is not above the level at which it was found, by itself or with others."""
    start, place, end = around
    low, high = max(start, place - LONGEST // 2), min(end, place + LONGEST // 2)
    fitted = fitted_at(whole, np.array([low]), high - low)
    by_ranks = float(step_p_value(fitted.score, high - low)[0])
    near = slice(low, high)
    ratio = smallest_ratio(whole.values[near], whole.extra[near], [0, place - low, high - low])
    return Shift(
        place=place,
        before=points[place - 1].id,
        after=points[place].id,
        started=points[place].started,
        p=min(by_ranks, p_value(ratio), level),
        **change(whole, (start, place), (place, end)),
    )


def change(whole: Track, before: tuple[int, int], after: tuple[int, int]) -> dict[str, float]:
    """From the median of one stretch to that of another: as a ratio where all are positive, else
    as a difference; with its 95 % interval, and the two levels."""
    first, second = (intervals.quantile(whole.values[start:end]) for start, end in (before, after))
    size = second.value - first.value
    reach = math.hypot(*(np.nan_to_num(e.half_width, nan=math.inf) for e in (first, second)))
    back = math.exp if whole.logs else float
    return {
        "size": back(size),
        "low": _back(size - reach, whole.logs),
        "high": _back(size + reach, whole.logs),
        "level_before": back(first.value),
        "level_after": back(second.value),
    }


def _back(value: float, logs: bool) -> float:
    return float(np.exp(np.clip(value, -700, 700))) if logs else value


def _drift(
    whole: Track, points: Sequence[Point], part: tuple[int, int], level: float
) -> Drift | None:
    """A slow change within a stretch, by the slope of Theil and Sen over its newest points."""
    start, end = max(part[0], part[1] - LONGEST), part[1]
    count = end - start
    if count < MIN_DRIFT_POINTS:
        return None
    fitted = fitted_at(whole, np.array([start]), count)
    p = float(line_p_value(fitted.line, count)[0])
    if p >= level or fitted.line[0] < fitted.score[0] + STRAIGHT:
        return None
    slope = _slope(whole.values[start:end])
    total = slope * (count - 1)
    return Drift(
        first=points[start].id,
        last=points[end - 1].id,
        points=count,
        size=_back(total, whole.logs),
        p=p,
    )


def _slope(values: Array) -> float:
    """Per point: the median over pairs half a stretch apart, which one outlier cannot move."""
    half = len(values) // 2
    return float(np.median(values[half:] - values[: len(values) - half])) / half


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a series at which its level changed for good."""

    place: int  # of the first point behind it, counted from 0
    before: str  # ids of the results on each side
    after: str
    started: str  # when the first behind it was measured
    size: float  # new over old level; of values that are not all positive, their difference
    low: float
    high: float
    level_before: float
    level_after: float
    p: float  # how often a series without a change would show one as clear


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A slow change over a stretch of a series, without a step."""

    first: str  # ids of its ends
    last: str
    points: int
    size: float  # over the whole stretch, as of a shift
    p: float
