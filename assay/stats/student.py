"""Student's t: its density, and the quantile for any level and degrees (Hill 1970, Algorithm 396 of
the CACM)."""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist


def density(t: float, degrees: float) -> float:
    if math.isinf(degrees):
        return NormalDist().pdf(t)
    half = degrees / 2
    scale = math.exp(math.lgamma(half + 0.5) - math.lgamma(half)) / math.sqrt(degrees * math.pi)
    return scale * math.pow(1 + t**2 / degrees, -half - 0.5)


@cache
def two_sided(level: float, degrees: float) -> float:
    """The value that |t| exceeds with probability `level`: six digits; up to 10 % too large between
    one and two degrees of freedom."""
    if math.isinf(degrees):
        return -NormalDist().inv_cdf(level / 2)
    if degrees == 1:
        return 1 / math.tan(level * math.pi / 2)
    if degrees == 2:
        return math.sqrt(2 / (level * (2 - level)) - 2)
    a = 1 / (degrees - 0.5)
    b = 48 / a**2
    c = ((20700 * a / b - 98) * a - 16) * a + 96.36
    d = ((94.5 / (b + c) - 3) / b + 1) * math.sqrt(a * math.pi / 2) * degrees
    y = (d * level) ** (2 / degrees)
    square = _middle(level, degrees, (a, b, c, d)) if y > 0.05 + a else _tail(y, degrees, d)
    return math.sqrt(degrees * square)


def _middle(level: float, degrees: float, terms: tuple[float, float, float, float]) -> float:
    """An expansion about the normal distribution."""
    a, b, c, d = terms
    x = NormalDist().inv_cdf(level / 2)
    y = x**2
    if degrees < 5:
        c += 0.3 * (degrees - 4.5) * (x + 0.6)
    c += (((0.05 * d * x - 5) * x - 7) * x - 2) * x + b
    y = (((((0.4 * y + 6.3) * y + 36) * y + 94.5) / c - y - 3) / b + 1) * x
    return math.expm1(a * y**2)


def _tail(y: float, degrees: float, d: float) -> float:
    """An expansion for the far tails of few degrees of freedom."""
    inner = 1 / (((degrees + 6) / (degrees * y) - 0.089 * d - 0.822) * (degrees + 2) * 3)
    return ((inner + 0.5 / (degrees + 4)) * y - 1) * (degrees + 1) / (degrees + 2) + 1 / y
