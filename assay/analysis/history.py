"""A series of results → its shifts and its drift, each with a size and how sure it is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from assay.analysis import changepoints, intervals
from assay.analysis.changepoints import FEWEST, LONGEST
from assay.analysis.intervals import Array
from assay.analysis.shift_levels import line_p_value, step_p_value
from assay.core.changes import Drift, Shift
from assay.core.series import Point

LEVEL = 0.015  # how often a series without a change may have a shift all the same
SHORTEST = 16  # points of the shortest interval that is searched by itself
DRIFTS_FROM = 16  # points; fewer have no drift
WHOLE = 0.6  # of the level, for the longest interval; the rest is shared by shorter ones
STRAIGHT = 3.0  # of the score, by which a line has to be better than a step to be taken for it
WINDOW = 128  # points that a new one is held against
LOOKS = 10  # a look at every new point errs about so much more often than a single one
_CHUNK = 300_000  # numbers handled at once
_ROUNDS = 3  # of moving shifts to where they fit best


class Track(NamedTuple):
    """A series as the search sees it: logarithms where all are positive, and own uncertainty."""

    values: Array
    extra: Array
    logs: bool


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
        _shift(whole, points, (segments[n][0], place, segments[n + 1][1]))
        for n, place in enumerate(places)
    )
    drifts = tuple(filter(None, (_drift(whole, points, part, level) for part in segments)))
    return History(shifts, drifts, segments)


def find(whole: Track, level: float = LEVEL) -> list[int]:
    """First points behind each shift: narrow intervals first (Baranowski, Chen and Fryzlewicz
    2019) over seeded ones (Kovács and others 2023), then each held against its neighbours."""
    found: list[int] = []
    for start, end, place in sorted(_significant(whole, level), key=lambda s: s[1] - s[0]):
        if not any(start < other < end for other in found):
            found.append(place)
    return _kept(whole, _halved(whole, sorted(found), level), level)


def _halved(whole: Track, places: list[int], level: float) -> list[int]:
    """With what is clear between the shifts that are known, again and again: it is another
    question than whether there is any."""
    edges = [0, *places, len(whole.values)] if places else []
    for start, end in itertools.pairwise(edges):
        if FEWEST <= end - start <= LONGEST:
            fitted = _fitted(whole, np.array([start]), end - start)
            if step_p_value(fitted.score, end - start)[0] < level:
                more = sorted([*places, start + int(fitted.place[0])])
                return _halved(whole, more, level)
    return places


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
        if len(self.window) < FEWEST:
            return 0
        fitted = changepoints.fit(*(part[None] for part in track(self.window)[:2]))
        if step_p_value(fitted.score, len(self.window))[0] >= self._level:
            return 0
        self.window = self.window[int(fitted.place[0]) :]
        return self.count - len(self.window)


def _significant(whole: Track, level: float) -> Iterator[tuple[int, int, int]]:
    """Intervals (start, end) with a shift (place), each tested at its share of the level."""
    count = len(whole.values)
    if count < FEWEST:
        return
    lengths = _lengths(count)
    for number, length in enumerate(lengths):
        starts = _starts(count, length)
        per_window = len(starts) * min(1.0, LONGEST / count)
        rest = (1 - WHOLE) / max(len(lengths) - 1, 1)
        part = 1.0 if len(lengths) == 1 else rest if number else WHOLE
        limit = level * part / max(per_window, 1.0)
        for some in np.array_split(starts, max(1, len(starts) * length * 9 // _CHUNK)):
            fitted = _fitted(whole, some, length)
            sure = step_p_value(fitted.score, length) < limit
            for at in np.flatnonzero(sure):
                yield int(some[at]), int(some[at]) + length, int(some[at] + fitted.place[at])


def _lengths(count: int) -> list[int]:
    lengths = [min(count, LONGEST)]
    while lengths[-1] // 2 >= SHORTEST:
        lengths.append(lengths[-1] // 2)
    return lengths


def _starts(count: int, length: int) -> Array:
    return np.unique(
        np.append(np.arange(0, count - length + 1, max(1, length // 2)), count - length)
    )


def _fitted(whole: Track, starts: Array, length: int) -> changepoints.Fit:
    at = starts[:, None] + np.arange(length)
    return changepoints.fit(whole.values[at], whole.extra[at])


def _kept(whole: Track, places: list[int], level: float) -> list[int]:
    """Those that stand between their neighbours, moved to where they fit best; a shift that a
    straight line explains as well is none."""
    for _ in range(_ROUNDS):
        before = list(places)
        for number in range(len(places)):
            start, end = _between(places, number, len(whole.values))
            if end - start >= FEWEST:
                places[number] = start + int(
                    _fitted(whole, np.array([start]), end - start).place[0]
                )
        places = _pruned(whole, places, level)
        if places == before:
            break
    return places


def _pruned(whole: Track, places: list[int], level: float) -> list[int]:
    """Without the weakest, again and again, until all are strong."""
    while places:
        weak = [
            (_weakness(whole, _between(places, n, len(whole.values))), n)
            for n in range(len(places))
        ]
        worst, number = max(weak)
        if worst < level:
            break
        places = places[:number] + places[number + 1 :]
    return places


def _weakness(whole: Track, interval: tuple[int, int]) -> float:
    """The p-value of a shift among its neighbours; 2 where a line does as well."""
    start, end = interval
    if end - start < FEWEST:
        return 1.0
    fitted = _fitted(whole, np.array([start]), end - start)
    if end - start >= DRIFTS_FROM and fitted.line[0] >= fitted.score[0] + STRAIGHT:
        return 2.0
    return float(step_p_value(fitted.score, end - start)[0])


def _between(places: list[int], number: int, count: int) -> tuple[int, int]:
    """From the shift before to the one after; not more than half the longest to each side."""
    before = places[number - 1] if number else 0
    after = places[number + 1] if number + 1 < len(places) else count
    half = LONGEST // 2
    return max(before, places[number] - half), min(after, places[number] + half)


def _shift(whole: Track, points: Sequence[Point], around: tuple[int, int, int]) -> Shift:
    start, place, end = around
    low, high = max(start, place - LONGEST // 2), min(end, place + LONGEST // 2)
    fitted = _fitted(whole, np.array([low]), high - low)
    return Shift(
        place=place,
        before=points[place - 1].id,
        after=points[place].id,
        started=points[place].started,
        p=float(step_p_value(fitted.score, high - low)[0]),
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
    if count < DRIFTS_FROM:
        return None
    fitted = _fitted(whole, np.array([start]), count)
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
