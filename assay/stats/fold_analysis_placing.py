"""Where exactly a known shift lies, by the density of the noise itself.

Ranks tell that a level changed, whatever the noise; but where there are outliers or two modes, the
values tell its place better. The density is that of kernels over what is left when both levels are
taken away, and it is believed only where it explains the values better than a normal one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from assay.stats.changepoints import SIDE
from assay.stats.intervals import Array

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
