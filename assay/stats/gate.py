"""Points of a series → did it get worse: the newest ones held against a baseline."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from assay.core.errors import UsageError
from assay.core.series import Point
from assay.stats import changepoints
from assay.stats import trend as series
from assay.stats.changepoints import FEWEST, SIDE, step_p_value
from assay.stats.intervals import Array
from assay.stats.shift_search import LEVEL, Track
from assay.stats.student import two_sided

RECENT = 10  # points: an older shift is history, and what came after it the new baseline
WINDOW = 128  # points looked at
SUSPICIOUS = 0.01  # of the loose test, for one series alone
UNKNOWN = 0.05  # noise between results that is assumed where fewer than FEW tell it
FEW = 5
_RATES = re.compile(r".*/s|FLOP/s|%")
_THRESHOLD = re.compile(r"(?P<metric>[^:]+):(?P<sign>[+-]?)(?P<share>[0-9.]+%?)")


class Judged(NamedTuple):
    """Two stretches of a series and how they compare."""

    baseline: tuple[int, int]  # places: from, up to
    candidate: tuple[int, int]
    size: float  # candidate over baseline
    low: float
    high: float
    levels: tuple[float, float]
    p: float  # strict: holds for any noise, and for a suite of many series
    loose: float  # of the newest points alone; enough to measure again, not to alarm


def parse_threshold(text: str) -> Threshold:
    """`step_time:3%`: 3 % worse; with a direction `loss:+1%`, higher, and `rate:-5%`, lower."""
    match = _THRESHOLD.fullmatch(text.strip())
    share = 0.0
    if match:
        number = match["share"]
        try:
            share = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
        except ValueError:
            match = None
    if not match or not 0 < share < 10:
        raise UsageError(
            f"'{text}' is not a threshold.",
            hint="METRIC:SHARE, as in step_time:3%, or with a direction: throughput:-3%.",
        )
    worse = {"": "", "+": "higher", "-": "lower"}[match["sign"]]
    return Threshold(metric=match["metric"], share=share, worse=worse)  # type: ignore[arg-type]


def worse_when(threshold: Threshold, unit: str) -> str:
    """Rates and shares of right answers are worse when lower, all else when higher."""
    return threshold.worse or ("lower" if _RATES.fullmatch(unit) else "higher")


def is_worse(size: float, threshold: Threshold, unit: str, by: float | None = None) -> bool:
    """Whether a ratio is beyond what the threshold allows."""
    share = threshold.share if by is None else by
    if worse_when(threshold, unit) == "higher":
        return size > 1 + share
    return size < 1 / (1 + share)


def since_stable(points: Sequence[Point]) -> Judged | None:
    """The newest points against the stretch before them; None where there are too few points."""
    recent = points[-WINDOW:]
    whole = series.track(recent)
    start = 0
    while len(recent) - start >= FEWEST:
        part = whole.values[start:], whole.extra[start:]
        fitted = changepoints.fit(*(one[None] for one in part))
        count = len(part[0])
        last = count - RECENT
        if fitted.place[0] < last and step_p_value(fitted.score, count)[0] < LEVEL:
            start += int(fitted.place[0])  # an old shift: what was before it is no baseline
            continue
        profile = fitted.profile[0][max(0, last - SIDE) :]
        place = start + max(SIDE, last) + int(profile.argmax())
        p = float(step_p_value(profile.max()[None], count)[0])
        return _judged(whole, (start, place), (place, len(recent)), p, len(points) - len(recent))
    return None


def against(baseline: Sequence[Point], candidate: Sequence[Point]) -> Judged:
    """A candidate against a baseline that was chosen."""
    both = [*baseline[-WINDOW:], *candidate[-WINDOW:]]
    whole = series.track(both)
    place = len(both) - len(candidate[-WINDOW:])
    p = 1.0
    if len(both) >= FEWEST and SIDE <= place <= len(both) - SIDE:
        fitted = changepoints.fit(whole.values[None], whole.extra[None])
        p = float(step_p_value(fitted.profile[0][place - SIDE : place - SIDE + 1], len(both))[0])
    return _judged(whole, (0, place), (place, len(both)), p, 0)


def stands_for_baseline(judged: Judged) -> int:
    """The place of the point that is measured again for the baseline: not its last ones, for the
    place of a shift is known to a few points only, and the last may already lie behind it."""
    start, end = judged.baseline
    return max(start, end - 1 - SIDE)


def alarming(p_values: Sequence[float], level: float) -> list[bool]:
    """Which of many tests hold together: of those, a share of at most `level` is false, and where
    nothing changed at all, one is named in at most that share of checks (Benjamini and Hochberg
    1995)."""
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values)
    good = values[order] <= level * np.arange(1, len(values) + 1) / max(len(values), 1)
    most = int(np.flatnonzero(good)[-1]) + 1 if good.any() else 0
    found = np.zeros(len(values), dtype=bool)
    found[order[:most]] = True
    return [bool(one) for one in found]


def _judged(
    whole: Track, before: tuple[int, int], after: tuple[int, int], p: float, offset: int
) -> Judged:
    newest = max(after[0], after[1] - SIDE)
    change = series.change(whole, before, after)
    loose = _loose(whole.values[slice(*before)], whole.values[newest : after[1]])
    size = change["size"] if whole.logs else math.nan
    return Judged(
        baseline=(before[0] + offset, before[1] + offset),
        candidate=(after[0] + offset, after[1] + offset),
        size=size,
        low=change["low"] if whole.logs else math.nan,
        high=change["high"] if whole.logs else math.nan,
        levels=(change["level_before"], change["level_after"]),
        p=p,
        loose=loose,
    )


def _loose(before: Array, after: Array) -> float:
    """How often the median of so few points would lie as far off, by Student's t; and not more
    seldom than the baseline itself had such points."""
    middle = float(np.median(before))
    off = abs(float(np.median(after)) - middle)
    if len(before) < FEW:
        scatter, degrees = UNKNOWN, FEW
    else:
        scatter = 1.4826 * float(np.median(np.abs(before - middle)))
        degrees = len(before) - 1
    error = scatter * math.sqrt(1 / len(after) + 1 / len(before))
    if error <= 0:
        return 0.0 if off > 0 else 1.0
    p = _two_sided_p(off / error, degrees)
    if len(before) < FEW:
        return p
    as_far = (1 + int((np.abs(before - middle) >= off).sum())) / (len(before) + 1)
    return max(p, min(as_far, 1.0) ** len(after) if as_far < 1 else 1.0)


def _two_sided_p(t: float, degrees: int) -> float:
    """By halving: Student's quantile is known, its inverse is not needed to be exact."""
    low, high = 1e-12, 1.0
    for _ in range(40):
        middle = math.sqrt(low * high)
        if two_sided(middle, degrees) > t:
            low = middle
        else:
            high = middle
    return high


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """How much worse a metric may get: `step_time:3%`."""

    metric: str
    share: float
    worse: Literal["", "higher", "lower"] = ""  # "": by its unit
