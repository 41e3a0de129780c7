"""Search for level shifts in a series: intervals of all lengths, narrow ones first."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from assay.stats import changepoints, segmentation
from assay.stats.changepoints import LONGEST, MIN_POINTS, SIDE, step_p_value
from assay.stats.intervals import Array
from assay.stats.large_steps import large_steps

LEVEL = 0.013  # false positives: share of series without a change in which a shift is reported
MIN_INTERVAL = 16  # points of the shortest interval that is searched by itself
MIN_DRIFT_POINTS = 16  # points; fewer have no drift
WHOLE = 0.55  # share of the level for the longest interval
PAIRS = 0.25  # share for several shifts at once; shorter intervals share the rest
STRAIGHT = 3.0  # a line is preferred to a step if its score is better by this much
_CHUNK = 300_000  # numbers processed at once
_ROUNDS = 3  # of moving each shift to its best fit


class Track(NamedTuple):
    """Input of the search: values (logarithms if all are positive) and their extra variance."""

    values: Array
    extra: Array
    logs: bool


def find(track: Track, level: float = LEVEL) -> list[int]:
    """Index of the first point after each shift: large ones by their size, and those between them
    by ranks."""
    large = localize(track.values, large_steps(track.values, track.extra))
    edges = [0, *large, len(track.values)]
    others = [
        start + place
        for start, end in itertools.pairwise(edges)
        for place in _find_by_ranks(_part(track, start, end), level)
    ]
    return sorted([*large, *others])


def _find_by_ranks(track: Track, level: float) -> list[int]:
    """A short series is partitioned by dynamic programming. In a longer one, seeded intervals
    (Kovács et al. 2023) are tested, the narrowest first (Baranowski, Chen and Fryzlewicz 2019), and
    each shift is then tested against its neighbours.
    """
    track = track._replace(values=remove_modes(track.values))
    if MIN_INTERVAL <= len(track.values) <= segmentation.LONGEST:
        return localize(track.values, _partition(track, level))
    places: list[int] = []
    for start, end, place in sorted(_significant(track, level), key=lambda s: s[1] - s[0]):
        if not any(start < other < end for other in places):
            places.append(place)
    for start, several in _joint_shifts(track, level) if not places else ():
        if not any(start <= other for other in places):
            places += several
    places = _confirm(track, _split_further(track, sorted(places), level), level)
    return localize(track.values, places)


def _partition(track: Track, level: float) -> list[int]:
    """All steps together if they are significant; none if a straight line fits as well."""
    values, extra = track.values, track.extra
    if not segmentation.clear(segmentation.fit(values, extra), len(values), level):
        return []
    best = max(
        segmentation.fit(values, extra, segmentation.MAX_STEPS), key=segmentation.penalized_score
    )
    line = segmentation.line_score(values, extra) - segmentation.PER_STEP
    return [] if line >= segmentation.penalized_score(best) + STRAIGHT else best.places


def _joint_shifts(track: Track, level: float) -> Iterator[tuple[int, list[int]]]:
    """Start of each interval whose shifts are significant together, with these shifts."""
    count, length = len(track.values), segmentation.LONGEST
    if length < count <= LONGEST:
        starts = _starts(count, length)
        for start in map(int, starts):
            places = _partition(_part(track, start, start + length), level * PAIRS / len(starts))
            if places:
                yield start, [start + place for place in places]


def _part(track: Track, start: int, end: int) -> Track:
    return Track(track.values[start:end], track.extra[start:end], track.logs)


def _split_further(track: Track, places: list[int], level: float) -> list[int]:
    """Add shifts that are significant between known ones, recursively. Each test is independent
    of the test whether the series has any shift."""
    edges = [0, *places, len(track.values)] if places else []
    for start, end in itertools.pairwise(edges):
        if not MIN_POINTS <= end - start <= LONGEST:
            continue
        fitted = fitted_at(track, np.array([start]), end - start)
        more = []
        if step_p_value(fitted.score, end - start)[0] < level:
            more = [start + int(fitted.place[0])]
        elif MIN_INTERVAL <= end - start <= segmentation.LONGEST:
            more = [start + place for place in _partition(_part(track, start, end), level)]
        if more:
            return _split_further(track, sorted([*places, *more]), level)
    return places


def _significant(track: Track, level: float) -> Iterator[tuple[int, int, int]]:
    """Intervals (start, end) that contain a shift (place), each tested at its share of the
    level."""
    count = len(track.values)
    if count < MIN_POINTS:
        return
    lengths = _lengths(count)
    for number, length in enumerate(lengths):
        starts = _starts(count, length)
        per_window = len(starts) * min(1.0, LONGEST / count)
        rest = (1 - WHOLE - PAIRS) / max(len(lengths) - 1, 1)
        part = 1 - PAIRS if len(lengths) == 1 else rest if number else WHOLE
        limit = level * part / max(per_window, 1.0)
        for some in np.array_split(starts, max(1, len(starts) * length * 9 // _CHUNK)):
            fitted = fitted_at(track, some, length)
            sure = step_p_value(fitted.score, length) < limit
            for at in np.flatnonzero(sure):
                yield int(some[at]), int(some[at]) + length, int(some[at] + fitted.place[at])


def _lengths(count: int) -> list[int]:
    lengths = [min(count, LONGEST)]
    while lengths[-1] // 2 >= MIN_INTERVAL:
        lengths.append(lengths[-1] // 2)
    return lengths


def _starts(count: int, length: int) -> Array:
    return np.unique(
        np.append(np.arange(0, count - length + 1, max(1, length // 2)), count - length)
    )


def fitted_at(track: Track, starts: Array, length: int) -> changepoints.Fit:
    at = starts[:, None] + np.arange(length)
    return changepoints.fit(track.values[at], track.extra[at])


def _confirm(track: Track, places: list[int], level: float) -> list[int]:
    """Shifts that are significant between their neighbours, each moved to its best fit; a shift
    that a straight line explains as well is dropped."""
    for _ in range(_ROUNDS):
        before = list(places)
        for number in range(len(places)):
            start, end = _between(places, number, len(track.values))
            if end - start >= MIN_POINTS:
                places[number] = start + int(
                    fitted_at(track, np.array([start]), end - start).place[0]
                )
        places = _drop_weak(track, places, level)
        if places == before:
            break
    return places


def _drop_weak(track: Track, places: list[int], level: float) -> list[int]:
    """Drop the weakest shift until all are significant."""
    while places:
        weak = [
            (_weakness(track, _between(places, n, len(track.values))), n)
            for n in range(len(places))
        ]
        worst, number = max(weak)
        if worst < level:
            break
        places = places[:number] + places[number + 1 :]
    return places


def _weakness(track: Track, interval: tuple[int, int]) -> float:
    """p-value of a shift between its neighbours; 2 if a line fits as well."""
    start, end = interval
    if end - start < MIN_POINTS:
        return 1.0
    fitted = fitted_at(track, np.array([start]), end - start)
    if end - start >= MIN_DRIFT_POINTS and fitted.line[0] >= fitted.score[0] + STRAIGHT:
        return 2.0
    return float(step_p_value(fitted.score, end - start)[0])


def _between(places: list[int], number: int, count: int) -> tuple[int, int]:
    """From the previous shift to the next; at most half of LONGEST to each side."""
    before = places[number - 1] if number else 0
    after = places[number + 1] if number + 1 < len(places) else count
    half = LONGEST // 2
    return max(before, places[number] - half), min(after, places[number] + half)


# Remove the offset between the two modes of a bimodal series.
#
# Some machines have two modes, and each result is in one of them at random. The offset between the
# modes can be larger than a shift, and then ranks hide the shift. The offset is estimated from the
# differences of neighbours, which a shift hardly affects; then each point is assigned to the mode
# that makes the series smoothest.

CLEAR = 10.0  # minimum gain in log-likelihood of two modes over one
APART = 3.5  # minimum offset, in standard deviations of the differences
OFTEN = (0.28, 0.6)  # range of the share of neighbours in different modes
MIN_MODE_POINTS = 16  # points
AROUND = 8  # points to each side that determine the local level
_MODE_ROUNDS = 30
_ROUNDS_AROUND = 2
_MAX_DEVIATIONS = 5.0  # limit of the cost of one difference, so that one shift costs no more


class Modes(NamedTuple):
    """Offset between the modes, and standard deviation of the differences within one."""

    distance: float
    deviation: float


def remove_modes(values: Array) -> Array:
    """The series with all points in the lower mode; unchanged if it is not bimodal."""
    modes = _modes(np.diff(values)) if len(values) >= MIN_MODE_POINTS else None
    return values if modes is None else values - modes.distance * _upper(values, modes)


def _modes(steps: Array) -> Modes | None:
    """Fit a mixture of three normals to the differences; the outer two are symmetric."""
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
    single = -len(steps) * (math.log(spread) + 0.5)
    gain = float(np.log(density.sum(0)).sum()) - single
    separate = distance > APART * deviation and OFTEN[0] <= share <= OFTEN[1]
    return Modes(distance, deviation) if separate and gain > CLEAR else None


def _upper(values: Array, modes: Modes) -> Array:
    """1 for each point of the upper mode: first the smoothest path, then the mode nearer to the
    local level, because values between the modes can mislead the smoothest path."""
    labels = _smoothest(values, modes, 0.5)
    labels = _smoothest(values, modes, float(np.clip(labels.mean(), 0.05, 0.95)))
    for _ in range(_ROUNDS_AROUND):
        ends = np.pad(values - modes.distance * labels, AROUND, mode="symmetric")
        level = np.median(np.lib.stride_tricks.sliding_window_view(ends, 2 * AROUND + 1), 1)
        labels = (values - level > modes.distance / 2).astype(np.float64)
    return labels


def _smoothest(values: Array, modes: Modes, share: float) -> Array:
    """Path with the smallest differences (Viterbi 1967); `share` of the points are above."""
    shifted = values[:, None] - modes.distance * np.arange(2)  # (points, modes)
    steps = np.abs(shifted[1:, None, :] - shifted[:-1, :, None]) / modes.deviation  # from, to
    costs = np.minimum(steps, _MAX_DEVIATIONS) ** 2 - 2 * np.log([1 - share, share])
    total: Array = np.zeros(2)
    backs: list[Any] = []
    for cost in costs:
        paths = total[:, None] + cost
        backs.append(paths.argmin(0))
        total = paths.min(0)
    labels = [int(total.argmin())]
    for back in reversed(backs):
        labels.append(int(back[labels[-1]]))
    return np.array(labels[::-1], dtype=np.float64)


# Localize a known shift by the density of the noise.
#
# Ranks detect a shift with any noise, but with outliers or two modes the values localize it better.
# The density is a kernel density estimate of the residuals of both levels. It is used only if it
# explains the values better than a normal distribution.

HALF = 64  # points used on each side of a shift
WIDTHS = (0.15, 0.3, 0.6)  # of kernels, in robust standard deviations
BETTER = 3.0  # minimum gain in log-likelihood of the density over a normal distribution
LARGE = 3.0  # standard deviations from which values localize a shift better than ranks
_TRIED = 41  # sizes of a shift
_FLOOR = 1e-3  # minimum density of any value, per standard deviation


def localize(values: Array, places: list[int]) -> list[int]:
    """Move each shift to where the values change sides, between its neighbours."""
    edges = [0, *places, len(values)]
    for n in range(1, len(edges) - 1):
        low, high = max(edges[n - 1], edges[n] - HALF), min(edges[n + 1], edges[n] + HALF)
        edges[n] = low + _localize_one(values[low:high], edges[n] - low)
    return edges[1:-1]


class NoiseFit(NamedTuple):
    """Residuals of both levels, and the width of their kernels."""

    size: float  # of the shift
    rest: Array
    width: float
    likelihood: float


def _localize_one(values: Array, place: int) -> int:
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
        return _split_index(_sides(values, noise, scale))
    size = levels[1] - levels[0]
    if abs(size) <= LARGE * scale:
        return place
    sides = -np.sign(size) * (values - sum(levels) / 2)
    return _split_index(np.clip(sides, -abs(size) / 2, abs(size) / 2))


def _noise(before: Array, after: Array, scale: float, width: float) -> NoiseFit:
    """Fit with the size of the shift that makes each side most likely under the other's density."""
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
    """Leave-one-out density."""
    kernels = np.exp(-0.5 * ((at[:, None] - rest) / width) ** 2)
    np.fill_diagonal(kernels, 0.0)
    density: Array = kernels.sum(1) / (len(rest) - 1) / (width * math.sqrt(2 * math.pi)) + floor
    return density


def _sides(values: Array, noise: NoiseFit, scale: float) -> Array:
    """Log-likelihood ratio of each value: before the shift against after it."""
    floor = _FLOOR / scale
    before = _density(values, noise.rest, noise.width, floor)
    after = _density(values - noise.size, noise.rest, noise.width, floor)
    ratios: Array = np.log(before) - np.log(after)
    return ratios


def _split_index(sides: Array) -> int:
    """Split with the largest sum of ratios before it."""
    sums = np.cumsum(sides)[SIDE - 1 : len(sides) - SIDE]
    return SIDE + int(sums.argmax())
