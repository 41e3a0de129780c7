"""Are the newest points of a series on the worse side of what was before, for longer than noise
keeps them there?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from assay.stats.intervals import Array
from assay.stats.series_noise import (
    POOLED_PART,
    SeriesNoise,
    deviations,
    estimate,
    follower_share,
    share_of_series,
    shrunk_scale,
)
from assay.stats.student import two_sided

BEFORE = 6  # points, at least, before a step
LONGEST = 10  # newest points looked at
STEADY = 3  # points in a row, at least, that an outlier does not make
LEVEL_DOUBT = 2.5  # deviations of the mean of the points before, by which their level may be off
# Of 18 points, the share of followers and the scale are known so badly that p-values of correlated
# and bimodal noise are some ten times too small; of 60 points, hardly: measured by
# benchmarks/nights.py alarms.
YOUNG = 40
POSSIBLE = 0.01  # a p-value that keeps the newest points of a series out of what noise is
PAIR = 0.25  # of the level of suspects, for two points


class NewestStep(NamedTuple):
    """The newest points that noise explains least."""

    points: int  # how many
    p: float  # of so many in a row in noise; 1.0 where there are fewer than STEADY
    single: float  # of the newest one or two
    # 95 %, of the level after over that before
    interval: tuple[float, float] = (math.nan, math.nan)


class Watched(NamedTuple):
    """A series without an earlier step, as this test sees it."""

    values: Array  # positive, oldest first
    share: float  # the least change that matters
    higher_is_worse: bool


def newest_steps(series: Sequence[Watched]) -> list[NewestStep]:
    """Of all series of one machine. What they say about noise leaves out the newest points of those
    that may have a step."""
    noise = _pool(series, [_leading(each) for each in series])
    steps = [newest_step(each, noise) for each in series]
    noise = _pool(
        series,
        [
            _leading(each) if min(step.p, step.single) < POSSIBLE else 1
            for each, step in zip(series, steps, strict=True)
        ],
    )
    return [newest_step(each, noise) for each in series]


def _leading(series: Watched) -> int:
    return min(LONGEST, len(series.values) // 3)


def _pool(series: Sequence[Watched], skipped: Sequence[int]) -> SeriesNoise:
    return estimate(
        [
            deviations(each.values[: len(each.values) - skip], each.higher_is_worse)
            for each, skip in zip(series, skipped, strict=True)
            if len(each.values) - skip >= BEFORE
        ]
    )


def newest_step(series: Watched, noise: SeriesNoise) -> NewestStep:
    values, share, worse = series
    best = NewestStep(0, 1.0, 1.0)
    for count in range(1, min(LONGEST, len(values) - BEFORE) + 1):
        before, newest = values[:-count], values[-count:]
        level = float(np.median(before))
        own, after = (part / level - 1 if worse else level / part - 1 for part in (before, newest))
        if float(np.median(after)) <= share:
            continue
        scale = shrunk_scale(own, noise)
        if count < STEADY:
            p = _probability(float(after.min()), count, own, scale, noise, least=1.0)
            p = p if count == 1 else min(p / PAIR, 1.0)
            if p < best.single:
                best = best._replace(single=p, interval=_interval(own, after, scale, series, noise))
            continue
        doubt = LEVEL_DOUBT * scale / math.sqrt(len(before))
        p = min(_probabilities(after - doubt, own, scale, noise))
        p *= 1 + (YOUNG / len(before)) ** 3
        if p < best.p:
            interval = _interval(own, after, scale, series, noise)
            best = best._replace(points=count, p=p, interval=interval)
    return _from_first_point(best, series)


def _from_first_point(step: NewestStep, series: Watched) -> NewestStep:
    """With the points before that are nearer to the new level than to the old one."""
    if step.points < STEADY:
        return step
    values = series.values
    middle = math.sqrt(float(np.median(values[: -step.points]) * np.median(values[-step.points :])))
    count = step.points
    while count < min(LONGEST, len(values) - BEFORE):
        if (values[-count - 1] > middle) != series.higher_is_worse:
            break
        count += 1
    return step._replace(points=count)


def _interval(
    before: Array, after: Array, scale: float, series: Watched, noise: SeriesNoise
) -> tuple[float, float]:
    """By the noise of the points before: those after are too few to know theirs."""
    middle = float(np.median(after))
    reach = two_sided(0.05, max(noise.degrees, 2.0)) * scale
    reach *= math.sqrt(1.57 * (1 / len(before) + 1 / len(after))) if len(after) > 1 else 1.0
    low, high = 1 + middle - reach, 1 + middle + reach
    return (low, high) if series.higher_is_worse else (1 / high, 1 / max(low, 1e-9))


def _probabilities(
    after: Array, baseline: Array, scale: float, noise: SeriesNoise
) -> Iterator[float]:
    """All of the newest points so far off, or all but one of five, or but two of eight."""
    ordered = np.sort(after)
    count = len(after)
    for misses in range(1 + (count >= 5) + (count >= 8)):
        p = _probability(float(ordered[misses]), count - misses, baseline, scale, noise)
        yield min(math.comb(count, misses) * p, 1.0)


def _probability(
    size: float,
    count: int,
    baseline: Array,
    scale: float,
    noise: SeriesNoise,
    least: float = POOLED_PART,
) -> float:
    if size <= 0:
        return 1.0
    first = share_of_series(size, baseline, scale, noise, least)
    return first * max(follower_share(size, baseline, scale, noise), first) ** (count - 1)
