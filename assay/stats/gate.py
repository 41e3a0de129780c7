"""Points of a series → did it get worse: the newest ones held against a baseline."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np

from assay.core import units
from assay.core.errors import UsageError
from assay.core.series import Point
from assay.stats import changepoints, trend
from assay.stats.changepoints import MIN_POINTS, SIDE, step_p_value
from assay.stats.common_change import (
    CommonSeries,
    MachineChange,
    day_changes,
    new_change,
    without,
)
from assay.stats.intervals import Array
from assay.stats.newest import BEFORE, POSSIBLE, NewestStep, Watched, newest_steps
from assay.stats.shift_search import LEVEL, Track
from assay.stats.student import two_sided

RECENT = 10  # points: an older shift is history, and what came after it the new baseline
WINDOW = 128  # points looked at
SUSPICIOUS = 0.01  # of the newest points against a chosen baseline, for one series alone
SUSPECTS = 0.02  # of nights on which any of all unchanged series is suspect
FEWEST_SERIES = 20  # fewer are tested as if there were so many, for their noise is less known
EXCLUDED = 0.05  # p-value below which a 95 % interval excludes that nothing changed
UNKNOWN = 0.05  # noise between results that is assumed where fewer than FEW tell it
FEW = 5
_RATES = re.compile(r".*/s|FLOP/s|%")
_THRESHOLD = re.compile(r"(?P<metric>[^:]+):(?P<sign>[+-]?)(?P<share>[0-9.]+%?)")


Judgement = Literal["regression", "improvement", "suspect", "fine", "not-comparable"]


class Judged(NamedTuple):
    """Two stretches of a series and how they compare."""

    baseline: tuple[int, int]  # places: from, up to
    candidate: tuple[int, int]
    size: float  # candidate over baseline
    low: float
    high: float
    levels: tuple[float, float]
    p: float  # by ranks, of a step at the best place: holds for any noise
    steady: float = 1.0  # by size, of three and more of the newest points
    single: float = 1.0  # by size, of the newest one or two: enough to measure again
    by_size: bool = False  # whether the candidate and its interval are those of the test by size

    @property
    def displayed_p(self) -> float:
        """Of the test that chose the candidate."""
        return min(self.steady, self.single) if self.by_size else self.p

    @property
    def interval(self) -> tuple[float, float]:
        """Contains 1 where the test does not exclude it: the candidate is the best of several."""
        if self.displayed_p <= EXCLUDED:
            return self.low, self.high
        return min(self.low, 1.0), max(self.high, 1.0)


def parse_threshold(text: str) -> Threshold:
    """`step_time:3%`: 3 % worse; with a direction `loss:+1%`, higher, and `rate:-5%`, lower."""
    match = _THRESHOLD.fullmatch(text.strip())
    share = 0.0
    if match:
        try:
            share = units.share(match["share"])
        except UsageError:
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


class Watch(NamedTuple):
    """A series to be judged beside others."""

    points: Sequence[Point]
    threshold: Threshold
    unit: str
    machine: str


def judge(series: Sequence[Watch]) -> list[Judged | None]:
    """Each series since its last shift, and its newest points by how large their step is beside
    the noise of all series of its machine. None where too few points tell anything."""
    series = [
        _without_common(each, commons)
        for each, commons in zip(series, _commons(series), strict=True)
    ]
    judged = [since_stable(each.points) for each in series]
    starts = [each.baseline[0] if each else 0 for each in judged]
    machines: dict[str, list[int]] = {}
    for at, (each, start) in enumerate(zip(series, starts, strict=True)):
        values = [point.value for point in each.points[start:]]
        if len(values) > BEFORE and min(values) > 0:
            machines.setdefault(each.machine, []).append(at)
    for members in machines.values():
        steps = newest_steps([_watched(series[at], starts[at]) for at in members])
        for at, step in zip(members, steps, strict=True):
            judged[at] = _with_step(series[at].points, starts[at], judged[at], step)
    return judged


def machine_changes(series: Sequence[Watch]) -> list[MachineChange]:
    """Machines on which most series got worse at once."""
    changes = []
    for machine, members in _by_machine(series).items():
        parts = [_common_series(each) for each in members]
        least = min(each.threshold.share for each in members)
        changes.append(new_change(machine, parts, day_changes(parts), least))
    return [change for change in changes if change]


def _by_machine(series: Sequence[Watch]) -> dict[str, list[Watch]]:
    machines: dict[str, list[Watch]] = {}
    for each in series:
        machines.setdefault(each.machine, []).append(each)
    return machines


def _commons(series: Sequence[Watch]) -> list[dict[str, float]]:
    days = {
        machine: day_changes([_common_series(each) for each in members])
        for machine, members in _by_machine(series).items()
    }
    return [days[each.machine] for each in series]


def _common_series(series: Watch) -> CommonSeries:
    higher = worse_when(series.threshold, series.unit) == "higher"
    return CommonSeries(series.points[-WINDOW:], higher)


def _without_common(series: Watch, changes: dict[str, float]) -> Watch:
    if not changes:
        return series
    higher = worse_when(series.threshold, series.unit) == "higher"
    return series._replace(points=without(CommonSeries(series.points, higher), changes))


def decide(
    series: Sequence[Watch],
    judged: Sequence[Judged | None],
    level: float,
    suspicious: float | None = None,
) -> list[Judgement]:
    """What holds over all series together. A suspect's newest points have a p-value of at most
    `suspicious`; None: so that few nights have one."""
    known = [each for each in judged if each]
    changes = [_change(each, of) if of else "" for each, of in zip(series, judged, strict=True)]
    tested = [of.p if change else 1.0 for of, change in zip(judged, changes, strict=True) if of]
    clear = iter(alarming(tested, level))
    judgements: list[Judgement] = []
    for of, change in zip(judged, changes, strict=True):
        if of is None:
            judgements.append("not-comparable")
            continue
        sure = next(clear)
        if is_steady(of, len(known), level) or (sure and change == "worse"):
            judgements.append("regression")
        elif sure and change == "better":
            judgements.append("improvement")
        elif change == "worse" and is_suspect(of, len(known), suspicious):
            judgements.append("suspect")
        else:
            judgements.append("fine")
    return judgements


def _change(series: Watch, judged: Judged) -> str:
    if is_worse(judged.size, series.threshold, series.unit):
        return "worse"
    better = judged.size > 0 and is_worse(1 / judged.size, series.threshold, series.unit)
    return "better" if better else ""


def is_suspect(judged: Judged, series: int, level: float | None = None) -> bool:
    """Whether the newest one or two points are so far off, among so many series."""
    limit = SUSPECTS / max(series, FEWEST_SERIES) if level is None else level
    return judged.single <= limit


def is_steady(judged: Judged, series: int, level: float) -> bool:
    """Whether three and more of the newest points are, at this level of all series together, half
    of which is for the test by ranks."""
    return judged.steady <= level / 2 / max(series, FEWEST_SERIES)


def _watched(series: Watch, start: int) -> Watched:
    values = np.array([point.value for point in series.points[start:][-WINDOW:]])
    worse = worse_when(series.threshold, series.unit) == "higher"
    return Watched(values, series.threshold.share, worse)


def _with_step(
    points: Sequence[Point], start: int, judged: Judged | None, step: NewestStep
) -> Judged:
    """The newest points become the candidate where their size is unlikely, and where there are too
    few for ranks."""
    count = step.points or 1
    if judged is None or min(step.p, step.single) < POSSIBLE:
        place = len(points) - count
        judged = _judged(trend.track(points), (start, place), (place, len(points)), 1.0, 0)
        low, high = step.interval
        known = not math.isnan(low)
        judged = judged._replace(low=low, high=high) if known else judged
        judged = judged._replace(by_size=True)
    return judged._replace(steady=step.p, single=step.single)


def since_stable(points: Sequence[Point]) -> Judged | None:
    """The newest points against the stretch before them; None where there are too few points."""
    recent = points[-WINDOW:]
    whole = trend.track(recent)
    start = 0
    while len(recent) - start >= MIN_POINTS:
        part = whole.values[start:], whole.extra[start:]
        fitted = changepoints.fit(*(series[None] for series in part))
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
    whole = trend.track(both)
    place = len(both) - len(candidate[-WINDOW:])
    p = 1.0
    if len(both) >= MIN_POINTS and SIDE <= place <= len(both) - SIDE:
        fitted = changepoints.fit(whole.values[None], whole.extra[None])
        p = float(step_p_value(fitted.profile[0][place - SIDE : place - SIDE + 1], len(both))[0])
    judged = _judged(whole, (0, place), (place, len(both)), p, 0)
    newest = max(place, len(both) - SIDE)
    single = _loose(whole.values[:place], whole.values[newest:])
    return judged._replace(single=single, by_size=p >= single)


def compare(points: Sequence[Point], start: int, place: int) -> Judged:
    """The points from a known step on against those from `start` to it."""
    return _judged(trend.track(points), (start, place), (place, len(points)), 1.0, 0)


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
    significant = np.zeros(len(values), dtype=bool)
    significant[order[:most]] = True
    return [bool(each) for each in significant]


def _judged(
    whole: Track, before: tuple[int, int], after: tuple[int, int], p: float, offset: int
) -> Judged:
    change = trend.change(whole, before, after)
    size = change["size"] if whole.logs else math.nan
    return Judged(
        baseline=(before[0] + offset, before[1] + offset),
        candidate=(after[0] + offset, after[1] + offset),
        size=size,
        low=change["low"] if whole.logs else math.nan,
        high=change["high"] if whole.logs else math.nan,
        levels=(change["level_before"], change["level_after"]),
        p=p,
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
