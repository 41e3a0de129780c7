"""Noise of the series of one machine, pooled: how often a point lies so far on the worse side of
its level, and how often the next one does too.

Ranks of 20 points cannot say that one is 40 deviations off. So the size counts: in deviations of
its own series, whose scale is shrunk towards that of all series; and how rare such a point is, all
series say together, beyond what they have seen by a Student's t fitted to them. A second point in
a row is rare by how often one follows another: noise that correlates is not taken for a step.
Method and figures: docs/design/gate.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from assay.stats.intervals import Array
from assay.stats.student import density, upper_tail

MAD = 1.4826  # makes the median absolute deviation a standard deviation of normal values
SMALLEST = 1e-4  # of a level: a series that is constant may still move by so much
LOG_SCALE_ERROR = 1.36  # variance of the logarithm of such a scale, times the number of points
HEIGHTS = np.array([0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 14, 20, 30, 50, 80, 120, 200.0])
SEEN = 10  # points so far off from which on their share is counted, and not extrapolated
OWN = 10.0  # points that all series together count for beside those of the series itself
OWN_REPEATS = 5.0  # the same, for points followed by another
FOLLOWED = (1.0, 10.0)  # of so many points so many are followed, where no series has such points
POOLED_PART = 0.5  # of what all series say: a series without such points may still have one
SHAPES = (
    *(1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0),
    *(8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 60.0, 200.0),
)
SHAPE_PRIOR = (0.25, 0.15)  # of one over the degrees of freedom, before any point is seen


class SeriesNoise(NamedTuple):
    """What all series of a machine say together."""

    log_scale: float  # the usual one
    variety: float  # variance of the logarithms of scales between series
    degrees: float  # of the Student's t that fits the worse side
    shares: Array  # points at least so high, for each of HEIGHTS
    seen: Array  # how many there were
    repeats: Array  # share of those that are followed by another


def deviations(values: Array, higher_is_worse: bool) -> Array:
    """Of positive values from their median: 0.5 takes half as long again, whatever the unit."""
    level = float(np.median(values))
    return values / level - 1 if higher_is_worse else level / values - 1


def estimate(stretches: Sequence[Array]) -> SeriesNoise:
    """From deviations of each series, newest points left out."""
    known = [each for each in stretches if len(each) >= 2] or [np.zeros(2)]
    logs = np.array([math.log(_own_scale(each)) for each in known])
    errors = np.array([LOG_SCALE_ERROR / len(each) for each in known])
    middle = float(np.median(logs))
    spread = (MAD * float(np.median(np.abs(logs - middle)))) ** 2
    variety = max(spread - float(np.median(errors)), 0.0) if len(known) > 2 else math.inf
    noise = SeriesNoise(middle, variety, math.inf, *(np.zeros(len(HEIGHTS)) for _ in range(3)))
    heights = [each / shrunk_scale(each, noise) for each in known]
    return _with_tail(noise._replace(degrees=_shape(np.concatenate(heights))), heights)


def shrunk_scale(values: Array, noise: SeriesNoise) -> float:
    """The own one and that of all series, by how much each is worth."""
    own = math.log(_own_scale(values))
    if math.isinf(noise.variety):
        return math.exp(own)
    error = LOG_SCALE_ERROR / max(len(values), 1)
    weight = noise.variety / (noise.variety + error)
    return math.exp(noise.log_scale + weight * (own - noise.log_scale))


def share_above(height: float, noise: SeriesNoise) -> float:
    """Points of any series at least so many scales on the worse side."""
    fitted = upper_tail(max(height, 0.0) / _unit(noise.degrees), noise.degrees)
    if np.interp(height, HEIGHTS, noise.seen) < SEEN or height > HEIGHTS[-1]:
        return fitted
    return max(fitted, float(np.interp(height, HEIGHTS, noise.shares)))


def share_of_series(
    size: float, baseline: Array, scale: float, noise: SeriesNoise, least: float = POOLED_PART
) -> float:
    """Points of this series at least so far off, of which its own baseline had some or none."""
    pooled = share_above(size / scale, noise)
    own = int((baseline >= size).sum())
    return max((own + OWN * pooled) / (len(baseline) + OWN), least * pooled)


def follower_share(size: float, baseline: Array, scale: float, noise: SeriesNoise) -> float:
    """Of points so far off, those that are followed by another."""
    pooled = float(np.interp(size / scale, HEIGHTS, noise.repeats))
    above = baseline >= size
    before = above[:-1]
    pairs = int((before & above[1:]).sum())
    own = (pairs + OWN_REPEATS * pooled) / (int(before.sum()) + OWN_REPEATS)
    return max(own, POOLED_PART * pooled)


def _own_scale(values: Array) -> float:
    """Corrected for few points."""
    count = max(len(values), 1)
    return max(MAD * float(np.median(np.abs(values))) * (1 + 0.8 / count), SMALLEST)


def _with_tail(noise: SeriesNoise, heights: Sequence[Array]) -> SeriesNoise:
    total = sum(len(each) for each in heights)
    seen, pairs, first = (np.zeros(len(HEIGHTS)) for _ in range(3))
    for each in heights:
        above = each[:, None] >= HEIGHTS
        seen += above.sum(0)
        first += above[:-1].sum(0)
        pairs += (above[:-1] & above[1:]).sum(0)
    usual, out_of = FOLLOWED
    return noise._replace(
        shares=(seen + 0.5) / (total + 1), seen=seen, repeats=(pairs + usual) / (first + out_of)
    )


def _shape(heights: Array) -> float:
    """Degrees of freedom by the likelihood of the worse side, whose median is known."""
    worse = heights[heights > 0]
    centre, width = SHAPE_PRIOR
    fits = [_likelihood(worse, degrees) for degrees in SHAPES]
    fits = [f - 0.5 * ((1 / d - centre) / width) ** 2 for f, d in zip(fits, SHAPES, strict=True)]
    at = int(np.argmax(fits))
    if not 0 < at < len(SHAPES) - 1:
        return SHAPES[at]
    inverse = [1 / degrees for degrees in SHAPES[at - 1 : at + 2]]
    square, slope, _ = np.polyfit(inverse, fits[at - 1 : at + 2], 2)
    return float(-2 * square / slope)


def _likelihood(worse: Array, degrees: float) -> float:
    unit = _unit(degrees)
    scaled = worse / unit
    constant = math.log(density(0.0, degrees) / unit)
    return float(len(worse) * constant - (degrees + 1) / 2 * np.log1p(scaled**2 / degrees).sum())


@cache
def _unit(degrees: float) -> float:
    """The scale of a Student's t whose quartile is that of a standard normal."""
    low, high = 0.5, 1.1
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(middle, degrees) > 0.25 else (low, middle)
    return 0.6744897501960817 / high
