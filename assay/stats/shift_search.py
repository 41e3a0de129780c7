"""Where the level of a series changed: intervals of all lengths, narrow ones first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.stats import changepoints, segmentation
from assay.stats.changepoints import FEWEST, LONGEST, SIDE, step_p_value
from assay.stats.intervals import Array
from assay.stats.large_steps import large_steps

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
    """First points behind each shift: those that are large beside all noise, and between them those
    that ranks tell."""
    large = placed(whole.values, large_steps(whole.values, whole.extra))
    edges = [0, *large, len(whole.values)]
    parts = itertools.pairwise(edges)
    others = [
        start + place for start, end in parts for place in _find(_part(whole, start, end), level)
    ]
    return sorted([*large, *others])


def _find(whole: Track, level: float) -> list[int]:
    """Of a series that is short enough by its best partition, else narrow intervals first
    (Baranowski, Chen and Fryzlewicz 2019) over seeded ones (Kovács and others 2023), then each held
    against its neighbours."""
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


# A series that goes to and fro between two modes → the same without the distance between them.
#
# Some machines have two modes, and which one a result falls into is chance. Ranks see little of a
# shift there, for the modes are farther apart than it. How far apart they are is known from the
# differences of neighbours, which a shift hardly changes; then each point is put into the mode
# under which the series is smoothest.

CLEAR = 10.0  # log-likelihood by which two modes have to explain differences better than one
APART = 3.5  # deviations of a difference, at least, between modes
OFTEN = (0.28, 0.6)  # share of neighbours in different modes
FEWEST_FOR_MODES = 16  # points
AROUND = 8  # points to each side that tell the level
_MODE_ROUNDS = 30
_ROUNDS_AROUND = 2
_MOST = 5.0  # deviations that a difference counts for: one shift costs no more


class Modes(NamedTuple):
    """How far apart, and the deviation of differences within one."""

    distance: float
    deviation: float


def unfolded(values: Array) -> Array:
    """All points in the lower mode; the values themselves where there are no two modes."""
    found = _modes(np.diff(values)) if len(values) >= FEWEST_FOR_MODES else None
    return values if found is None else values - found.distance * _upper(values, found)


def _modes(steps: Array) -> Modes | None:
    """A mixture of three normals, of which the outer two are as far and as often to either side."""
    spread = float(np.std(steps))
    if spread <= 0:
        return None
    distance, deviation, share = 1.5 * spread, 0.5 * spread, 0.4
    density = np.ones((3, len(steps)))
    for _ in range(_MODE_ROUNDS):
        centres = np.array([0.0, distance, -distance])[:, None]
        weights = np.array([1 - share, share / 2, share / 2])[:, None]
        density = weights * np.exp(-0.5 * ((steps - centres) / deviation) ** 2) / deviation
        density = np.maximum(density, 1e-300)
        parts = density / density.sum(0)
        share = float(parts[1:].sum() / len(steps))
        outer = max(float(parts[1:].sum()), 1e-9)
        distance = abs(float(((parts[1] - parts[2]) * steps).sum())) / outer
        left = (steps - np.array([0.0, distance, -distance])[:, None]) ** 2
        deviation = max(math.sqrt(float((parts * left).sum()) / len(steps)), 1e-6 * spread)
    one = -len(steps) * (math.log(spread) + 0.5)
    gain = float(np.log(density.sum(0)).sum()) - one
    apart = distance > APART * deviation and OFTEN[0] <= share <= OFTEN[1]
    return Modes(distance, deviation) if apart and gain > CLEAR else None


def _upper(values: Array, found: Modes) -> Array:
    """1 for each point of the upper mode: first the smoothest way, then the nearer mode to the
    level around, for values in the middle of both can lead a smooth way astray for a while."""
    labels = _smoothest(values, found, 0.5)
    labels = _smoothest(values, found, float(np.clip(labels.mean(), 0.05, 0.95)))
    for _ in range(_ROUNDS_AROUND):
        ends = np.pad(values - found.distance * labels, AROUND, mode="symmetric")
        level = np.median(np.lib.stride_tricks.sliding_window_view(ends, 2 * AROUND + 1), 1)
        labels = (values - level > found.distance / 2).astype(np.float64)
    return labels


def _smoothest(values: Array, found: Modes, share: float) -> Array:
    """The way with the least differences (Viterbi 1967), with `share` of the points above."""
    moved = values[:, None] - found.distance * np.arange(2)  # (points, modes)
    steps = np.abs(moved[1:, None, :] - moved[:-1, :, None]) / found.deviation  # from, to
    costs = np.minimum(steps, _MOST) ** 2 - 2 * np.log([1 - share, share])
    total: Array = np.zeros(2)
    backs: list[Any] = []
    for cost in costs:
        ways = total[:, None] + cost
        backs.append(ways.argmin(0))
        total = ways.min(0)
    labels = [int(total.argmin())]
    for back in reversed(backs):
        labels.append(int(back[labels[-1]]))
    return np.array(labels[::-1], dtype=np.float64)


# Where exactly a known shift lies, by the density of the noise itself.
#
# Ranks tell that a level changed, whatever the noise; but where there are outliers or two modes,
# the values tell its place better. The density is that of kernels over what is left when both
# levels are taken away, and it is believed only where it explains the values better than a normal
# one.

HALF = 64  # points looked at on each side of a shift
WIDTHS = (0.15, 0.3, 0.6)  # of kernels, in robust standard deviations
BETTER = 3.0  # log-likelihood by which the density has to be better than a normal one
LARGE = 3.0  # standard deviations: from there on values tell a place better than ranks
_TRIED = 41  # sizes of a shift
_FLOOR = 1e-3  # density, per standard deviation, that any value has


def placed(values: Array, places: list[int]) -> list[int]:
    """Each shift where the values change sides, between its neighbours."""
    edges = [0, *places, len(values)]
    for n in range(1, len(edges) - 1):
        low, high = max(edges[n - 1], edges[n] - HALF), min(edges[n + 1], edges[n] + HALF)
        edges[n] = low + _place(values[low:high], edges[n] - low)
    return edges[1:-1]


class NoiseFit(NamedTuple):
    """Both levels taken away, and how wide kernels over that are."""

    size: float  # of the shift
    rest: Array
    width: float
    likelihood: float


def _place(values: Array, place: int) -> int:
    before, after = values[:place], values[place:]
    levels = float(np.median(before)), float(np.median(after))
    rest = np.concatenate([before - levels[0], after - levels[1]])
    scale = 1.4826 * float(np.median(np.abs(rest)))
    if scale <= 0 or len(values) < 2 * SIDE:
        return place
    spread = float(np.std(rest)) or scale
    normal = -len(rest) * (math.log(spread * math.sqrt(2 * math.pi)) + 0.5)
    noise = max((_noise(before, after, scale, w) for w in WIDTHS), key=lambda n: n.likelihood)
    if noise.likelihood > normal + BETTER:
        return _likeliest(_sides(values, noise, scale))
    size = levels[1] - levels[0]
    if abs(size) <= LARGE * scale:
        return place
    sides = -np.sign(size) * (values - sum(levels) / 2)
    return _likeliest(np.clip(sides, -abs(size) / 2, abs(size) / 2))


def _noise(before: Array, after: Array, scale: float, width: float) -> NoiseFit:
    """With the size of the shift under which each side is likeliest by the other's density."""
    width *= scale
    between = after[None, :] - before[:, None]
    usual = float(np.median(after) - np.median(before))
    tried = usual + np.linspace(-2, 2, _TRIED) * scale
    kernels = np.exp(-0.5 * ((between[None] - tried[:, None, None]) / width) ** 2) / width
    floor = _FLOOR / scale
    fits = sum(np.log(kernels.mean(axis) + floor).sum(1) for axis in (1, 2))
    size = float(tried[int(np.argmax(fits))])
    rest = np.concatenate([before, after - size])
    return NoiseFit(size, rest, width, float(np.log(_density(rest, rest, width, floor)).sum()))


def _density(at: Array, rest: Array, width: float, floor: float) -> Array:
    """By all points but the one it is asked at."""
    kernels = np.exp(-0.5 * ((at[:, None] - rest) / width) ** 2)
    np.fill_diagonal(kernels, 0.0)
    found: Array = kernels.sum(1) / (len(rest) - 1) / (width * math.sqrt(2 * math.pi)) + floor
    return found


def _sides(values: Array, noise: NoiseFit, scale: float) -> Array:
    """How much likelier each value is before the shift than after it."""
    floor = _FLOOR / scale
    before = _density(values, noise.rest, noise.width, floor)
    after = _density(values - noise.size, noise.rest, noise.width, floor)
    found: Array = np.log(before) - np.log(after)
    return found


def _likeliest(sides: Array) -> int:
    """The place that has what belongs before it before it, and the rest behind."""
    sums = np.cumsum(sides)[SIDE - 1 : len(sides) - SIDE]
    return SIDE + int(sums.argmax())
