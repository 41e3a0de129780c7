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


def upper_tail(t: float, degrees: float) -> float:
    """The probability of a value above `t`, for t of 0 and more and any degrees of freedom."""
    if math.isinf(degrees):
        return 0.5 * math.erfc(t / math.sqrt(2))
    if t <= 0:
        return 0.5
    share = degrees / (degrees + t * t)
    half = degrees / 2
    if share < (half + 1) / (half + 2.5):
        return 0.5 * _incomplete_beta(share, half, 0.5)
    return 0.5 * (1 - _incomplete_beta(1 - share, 0.5, half))


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Regularized; by its continued fraction (Lentz 1976), which converges fast below the mean."""
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_front + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 200):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            total *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return front * total
