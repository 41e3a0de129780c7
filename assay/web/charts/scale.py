"""Axes: ticks and positions of values, independent of SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from assay.core.units import human

Kind = Literal["number", "time", "log"]
_DAY = 86_400
_TIMES = (  # steps of a time axis: seconds, minutes, hours, days
    *(1, 5, 15, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 43_200),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 90 * _DAY, 180 * _DAY, 365 * _DAY),
)


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Maps values to positions between 0 and 1."""

    low: float
    high: float
    kind: Kind = "number"
    unit: str = ""

    def place(self, value: float) -> float:
        low, high, at = self.low, self.high, value
        if self.kind == "log":
            low, high, at = math.log(low), math.log(high), math.log(max(value, 1e-300))
        return (at - low) / (high - low)

    def label(self, value: float) -> str:
        if self.kind == "time":
            days = (self.high - self.low) / _DAY
            pattern = "%H:%M:%S" if days < 1 else "%m-%d %H:%M" if days < 5 else "%Y-%m-%d"
            return datetime.fromtimestamp(value, UTC).strftime(pattern)
        return human(value, self.unit)

    def labels(self, about: int = 5) -> list[tuple[float, str]]:
        """Ticks with their texts, each text once."""
        texts: dict[str, float] = {}
        for tick in self.ticks(about):
            texts.setdefault(self.label(tick), tick)
        return [(tick, text) for text, tick in texts.items()]

    def ticks(self, about: int = 5) -> list[float]:
        """Round values inside, about so many."""
        if self.kind == "log":
            return _log_ticks(self.low, self.high, about)
        wanted = (self.high - self.low) / max(about, 1)
        step = next((s for s in _TIMES if self.kind == "time" and s >= wanted), 0) or _round_step(
            wanted, 2.0 if self.unit == "B" else 10.0
        )
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [number * step for number in range(first, last + 1)]


def make_scale(
    values: Sequence[float], unit: str = "", kind: Kind = "number", room: float = 0.05
) -> Scale:
    """Over all finite values, with some room at both ends."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if kind == "log":
        return Scale(low=low / 1.1, high=high * 1.1, kind=kind, unit=unit)
    if high > low:
        more = (high - low) * room
    else:
        more = _DAY / 2 if kind == "time" else abs(high) * 0.1 or 1.0
    start = low - more if low < 0 else max(0.0, low - more)  # no negative times
    return Scale(low=start, high=high + more, kind=kind, unit=unit)


def downsample(ys: Sequence[float], limit: int) -> list[int]:
    """Indices of points to draw: the minimum and maximum of each stretch, in order."""
    if len(ys) <= limit:
        return list(range(len(ys)))
    stretches = max(1, limit // 2)
    indices: set[int] = {0, len(ys) - 1}
    for number in range(stretches):
        part = range(number * len(ys) // stretches, (number + 1) * len(ys) // stretches)
        indices.add(min(part, key=ys.__getitem__))
        indices.add(max(part, key=ys.__getitem__))
    return sorted(indices)


def _round_step(about: float, base: float) -> float:
    """1, 2 or 5 times a power of ten; of bytes a power of two."""
    power = base ** math.floor(math.log(about, base))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= about * 0.999)


def _log_ticks(low: float, high: float, about: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = [f * 10.0**p for p in powers for f in factors if low <= f * 10.0**p <= high]
        if len(ticks) >= min(about, 3):
            return ticks
    return Scale(low=low, high=high).ticks(about)  # so narrow that it is nearly straight
