"""Reduce the values of a metric to one number."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from assay.logs.values import Values

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

MAX_SORTED = 1 << 20  # values sorted at once
_SIGN = 1 << 63


class NotComputableError(Exception):
    """The method cannot be applied to the values; becomes the reason of the metric."""


def compute(method: str, values: Values, skip: int = 0, workers: int = 0) -> float:
    """`workers` is DEEPLEARNING_WORKERS_COUNT: it divides a total."""
    if len(values) <= skip:
        raise NotComputableError(f"all {len(values)} values are among the {skip} skipped")
    return METHODS[method](_Selection(values, skip), workers)


class _Selection:
    """The values after the skipped ones, for repeated iteration."""

    def __init__(self, values: Values, skip: int) -> None:
        self._values, self._skip = values, skip
        self.count = len(values) - skip

    def chunks(self) -> Iterator[array[float]]:
        return self._values.chunks(self._skip)

    def __iter__(self) -> Iterator[float]:
        return chain.from_iterable(self.chunks())


def _sum(values: Iterable[float]) -> float:
    try:
        return math.fsum(values)
    except (ValueError, OverflowError):  # inf and -inf together, or overflow
        return math.nan


def _mean(kept: _Selection, workers: int = 0) -> float:
    return _sum(kept) / kept.count


def _total(kept: _Selection, workers: int) -> float:
    return _sum(kept) / (workers or 1)


def _aggregate(kept: _Selection, workers: int) -> float:
    if not workers:
        raise NotComputableError(
            "average_aggregate needs DEEPLEARNING_WORKERS_COUNT, which is not set"
        )
    return _mean(kept) * workers


def _deviation(kept: _Selection, workers: int) -> float:
    if kept.count < 2:
        raise NotComputableError("std needs 2 values or more, but there is 1")
    mean = _mean(kept)
    return math.sqrt(_sum((value - mean) ** 2 for value in kept) / (kept.count - 1))


def _first(kept: _Selection, workers: int) -> float:
    return next(iter(kept))


def _last(kept: _Selection, workers: int) -> float:
    *_, chunk = kept.chunks()
    return chunk[-1]


def _extreme(choose: Callable[..., float]) -> Method:
    def extreme(kept: _Selection, workers: int) -> float:
        extremes = [choose(chunk) for chunk in kept.chunks()]
        # comparisons with nan are false, so the result would depend on its position
        return math.nan if _has_nan(kept) else choose(extremes)

    return extreme


def _percentile(share: float) -> Method:
    """Linear interpolation between ranks, as in numpy and the old driver."""

    def percentile(kept: _Selection, workers: int) -> float:
        if _has_nan(kept):
            return math.nan
        position = (kept.count - 1) * share
        low = math.floor(position)
        below = _value_at_rank(kept, low)
        if position == low:
            return below
        return below + (_value_at_rank(kept, low + 1) - below) * (position - low)

    return percentile


def _has_nan(kept: _Selection) -> bool:
    return not math.isfinite(_sum(kept)) and any(map(math.isnan, kept))


def _value_at_rank(kept: _Selection, rank: int) -> float:
    """The exact value of a rank with bounded memory: 16 bits per pass."""
    import numpy

    prefix, shift = 0, 64
    while True:
        counts = numpy.zeros(1 << 16, numpy.int64)
        for keys in _keys(kept, prefix, shift):
            parts = (keys >> numpy.uint64(shift - 16)) & numpy.uint64(0xFFFF)
            counts += numpy.bincount(parts.astype(numpy.int64), minlength=1 << 16)
        up_to = numpy.cumsum(counts)
        digit = int(numpy.searchsorted(up_to, rank, side="right"))
        rank -= int(up_to[digit] - counts[digit])
        prefix, shift = prefix << 16 | digit, shift - 16
        if shift == 0 or counts[digit] <= MAX_SORTED:
            ordered = numpy.sort(numpy.concatenate(list(_keys(kept, prefix, shift))))
            return _value(int(ordered[rank]))


def _keys(kept: _Selection, prefix: int, shift: int) -> Iterator[NDArray[numpy.uint64]]:
    """Values with the leading bits `prefix`, as integers in the same order."""
    import numpy

    for chunk in kept.chunks():
        bits = numpy.frombuffer(chunk, numpy.uint64)
        negative = bits >> numpy.uint64(63) == 1
        keys = numpy.where(negative, ~bits, bits | numpy.uint64(_SIGN))
        yield keys if shift == 64 else keys[keys >> numpy.uint64(shift) == prefix]


def _value(key: int) -> float:
    import struct

    bits = key ^ _SIGN if key & _SIGN else ~key & (2**64 - 1)
    (value,) = struct.unpack("<d", struct.pack("<Q", bits))
    return float(value)


Method = Callable[[_Selection, int], float]
METHODS: dict[str, Method] = {
    "average": _mean,
    "average_aggregate": _aggregate,
    "count": lambda kept, workers: float(kept.count),
    "first": _first,
    "last": _last,
    "max": _extreme(max),
    "median": _percentile(0.5),
    "min": _extreme(min),
    "p50": _percentile(0.5),
    "p90": _percentile(0.9),
    "p95": _percentile(0.95),
    "p99": _percentile(0.99),
    "std": _deviation,
    "total": _total,
}
