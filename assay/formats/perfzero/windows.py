"""Profiler windows, `begin:end,begin:end`: seconds after the method began."""

from __future__ import annotations

import math

from assay.core.errors import UsageError

Window = tuple[float, float]  # start, exclusive end
FOR_EVER = 365 * 24 * 3600.0


def parse(text: str) -> tuple[Window, ...]:
    """Windows in order; one without an end lasts until the method is over."""
    windows: list[Window] = []
    for piece in filter(None, (part.strip() for part in text.split(","))):
        begin, colon, end = piece.partition(":")
        window = _seconds(begin, piece), _seconds(end, piece) if colon and end else FOR_EVER
        if window[1] <= window[0]:
            raise _wrong(piece, "ends before it begins")
        if windows and window[0] <= windows[-1][1]:
            raise _wrong(piece, "begins before the one before it has ended")
        windows.append(window)
    return tuple(windows)


def _seconds(text: str, piece: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value >= 0 or math.isinf(value):
        raise _wrong(piece, f"has '{text}' where seconds belong")
    return value


def _wrong(piece: str, what: str) -> UsageError:
    return UsageError(f"The profiler window {piece} {what}.", hint="As in 5:10 or 5:10,20:25")
