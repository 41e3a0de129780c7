"""Where the level of a series changed: intervals of all lengths, narrow ones first."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from assay.stats import changepoints, segmentation
from assay.stats.changepoints import FEWEST, LONGEST
from assay.stats.fold_analysis_modes import unfolded
from assay.stats.fold_analysis_placing import placed
from assay.stats.fold_analysis_shift_levels import step_p_value
from assay.stats.intervals import Array

LEVEL = 0.013  # how often a series without a change may have a shift all the same
SHORTEST = 16  # points of the shortest interval that is searched by itself
DRIFTS_FROM = 16  # points; fewer have no drift
WHOLE = 0.55  # of the level, for the longest interval
PAIRS = 0.25  # for several shifts at once; the rest is shared by shorter intervals
STRAIGHT = 3.0  # of the score, by which a line has to be better than a step to be taken for it
_CHUNK = 300_000  # numbers handled at once
_ROUNDS = 3  # of moving shifts to where they fit best


class Track(NamedTuple):
    """A series as the search sees it: logarithms where all are positive, and own uncertainty."""

    values: Array
    extra: Array
    logs: bool


def find(whole: Track, level: float = LEVEL) -> list[int]:
    """First points behind each shift: of a series that is short enough by its best partition, else
    narrow intervals first (Baranowski, Chen and Fryzlewicz 2019) over seeded ones (Kovács and
    others 2023), then each held against its neighbours."""
    whole = whole._replace(values=unfolded(whole.values))
    if SHORTEST <= len(whole.values) <= segmentation.LONGEST:
        return placed(whole.values, _partitioned(whole, level))
    found: list[int] = []
    for start, end, place in sorted(_significant(whole, level), key=lambda s: s[1] - s[0]):
        if not any(start < other < end for other in found):
            found.append(place)
    for start, several in _several(whole, level) if not found else ():
        if not any(start <= other for other in found):
            found += several
    found = _kept(whole, _halved(whole, sorted(found), level), level)
    return placed(whole.values, found)


def _partitioned(whole: Track, level: float) -> list[int]:
    """All steps together, where they are clear; none where a straight line does as well."""
    values, extra = whole.values, whole.extra
    if not segmentation.clear(segmentation.fit(values, extra), len(values), level):
        return []
    best = max(segmentation.fit(values, extra, segmentation.MOST), key=segmentation.penalized)
    line = segmentation.line_score(values, extra) - segmentation.PER_STEP
    return [] if line >= segmentation.penalized(best) + STRAIGHT else best.places


def _several(whole: Track, level: float) -> Iterator[tuple[int, list[int]]]:
    """Starts of intervals with shifts that are clear together, and those."""
    count, length = len(whole.values), segmentation.LONGEST
    if length < count <= LONGEST:
        starts = _starts(count, length)
        for start in map(int, starts):
            places = _partitioned(_part(whole, start, start + length), level * PAIRS / len(starts))
            if places:
                yield start, [start + place for place in places]


def _part(whole: Track, start: int, end: int) -> Track:
    return Track(whole.values[start:end], whole.extra[start:end], whole.logs)


def _halved(whole: Track, places: list[int], level: float) -> list[int]:
    """With what is clear between the shifts that are known, again and again: it is another
    question than whether there is any."""
    edges = [0, *places, len(whole.values)] if places else []
    for start, end in itertools.pairwise(edges):
        if not FEWEST <= end - start <= LONGEST:
            continue
        fitted = fitted_at(whole, np.array([start]), end - start)
        more = []
        if step_p_value(fitted.score, end - start)[0] < level:
            more = [start + int(fitted.place[0])]
        elif SHORTEST <= end - start <= segmentation.LONGEST:
            more = [start + place for place in _partitioned(_part(whole, start, end), level)]
        if more:
            return _halved(whole, sorted([*places, *more]), level)
    return places


def _significant(whole: Track, level: float) -> Iterator[tuple[int, int, int]]:
    """Intervals (start, end) with a shift (place), each tested at its share of the level."""
    count = len(whole.values)
    if count < FEWEST:
        return
    lengths = _lengths(count)
    for number, length in enumerate(lengths):
        starts = _starts(count, length)
        per_window = len(starts) * min(1.0, LONGEST / count)
        rest = (1 - WHOLE - PAIRS) / max(len(lengths) - 1, 1)
        part = 1 - PAIRS if len(lengths) == 1 else rest if number else WHOLE
        limit = level * part / max(per_window, 1.0)
        for some in np.array_split(starts, max(1, len(starts) * length * 9 // _CHUNK)):
            fitted = fitted_at(whole, some, length)
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


def fitted_at(whole: Track, starts: Array, length: int) -> changepoints.Fit:
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
                    fitted_at(whole, np.array([start]), end - start).place[0]
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
    fitted = fitted_at(whole, np.array([start]), end - start)
    if end - start >= DRIFTS_FROM and fitted.line[0] >= fitted.score[0] + STRAIGHT:
        return 2.0
    return float(step_p_value(fitted.score, end - start)[0])


def _between(places: list[int], number: int, count: int) -> tuple[int, int]:
    """From the shift before to the one after; not more than half the longest to each side."""
    before = places[number - 1] if number else 0
    after = places[number + 1] if number + 1 < len(places) else count
    half = LONGEST // 2
    return max(before, places[number] - half), min(after, places[number] + half)
