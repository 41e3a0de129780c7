"""What follows from series of results: shifts, drifts, what changed, what a check found."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from assay.core.records import SCHEMA


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """A place in a series at which its level changed for good."""

    place: int  # of the first point behind it, counted from 0
    before: str  # ids of the results on each side
    after: str
    started: str  # when the first behind it was measured
    size: float  # new over old level; of values that are not all positive, their difference
    low: float
    high: float
    level_before: float
    level_after: float
    p: float  # how often a series without a change would show one as clear


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A slow change over a stretch of a series, without a step."""

    first: str  # ids of its ends
    last: str
    points: int
    size: float  # over the whole stretch, as of a shift
    p: float


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in which two results differ, and whether it is known to matter."""

    kind: str  # workload, parameter, option, commit, package, driver, variable, machine, …
    what: str
    before: str  # "" where it was not there
    after: str
    weight: int  # 0 to 100: how often such a difference is the reason
    why: str = ""  # what it is known to do; "": nothing is known
    proof: str = ""  # the command that would decide it, or what to do in place of one


class ExplainedShift(msgspec.Struct, frozen=True, kw_only=True):
    """A shift, and what else changed between the results on its two sides."""

    shift: Shift
    changed: tuple[Changed, ...] = ()


class SeriesHistory(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one series over time."""

    key: str
    metric: str
    unit: str
    series: str  # its id
    machine: str
    version: str
    order: Literal["time", "commit"] = "time"
    points: tuple[Any, ...] = ()  # of core.series.Point
    shifts: tuple[ExplainedShift, ...] = ()
    drifts: tuple[Drift, ...] = ()
    stable_from: int = 0  # the first point of the last stretch without a shift
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    kind: Literal["history"] = "history"


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """How much worse a metric may get: `step_time:3%`."""

    metric: str
    share: float
    worse: Literal["", "higher", "lower"] = ""  # "": by its unit


Judgement = Literal["regression", "improvement", "suspect", "fine", "not-comparable"]
Outcome = Literal["", "confirmed", "refuted", "undecided"]


class CheckedSeries(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one series, its newest points held against a baseline."""

    key: str
    metric: str
    unit: str
    series: str
    machine: str
    judgement: Judgement
    text: str  # in words: what was held against what, or why it could not be
    threshold: Threshold
    size: float = math.nan  # candidate over baseline
    low: float = math.nan
    high: float = math.nan
    p: float = 1.0  # of the strict test, which counts over all series
    baseline: float = math.nan
    candidate: float = math.nan
    baseline_id: str = ""  # of each side, the result that is measured again for it
    candidate_id: str = ""
    baseline_points: int = 0
    candidate_points: int = 0
    outcome: Outcome = ""  # of measuring both again
    confirmation: str = ""  # in words
    run: str = ""  # of the measurements that decided


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """A whole check: every series, and what it means together."""

    found: tuple[CheckedSeries, ...]
    level: float  # share of false alarms among alarms, over all series together
    since: str = ""  # the baseline, in words
    named: bool = False  # whether a baseline was named
    confirmed: bool = False  # whether suspects were measured again
    alerts: tuple[str, ...] = ()  # how each alert fared, in words
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    kind: Literal["check"] = "check"


class MetricChange(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity of two results; the ratio is second over first."""

    metric: str
    unit: str
    before: float
    after: float
    ratio: float
    apart: bool  # whether their intervals do not touch


class OperationChange(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation of a profiled model took in each of two traces."""

    name: str
    before: float  # seconds of a step
    after: float


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why two results may differ: what differs beside the numbers, likeliest first."""

    before: str  # ids
    after: str
    keys: tuple[str, str]
    metrics: tuple[MetricChange, ...]
    changed: tuple[Changed, ...]
    operations: tuple[OperationChange, ...] = ()
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    kind: Literal["explanation"] = "explanation"


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """One revision that a bisection held against the good end, or could not."""

    place: int  # in `names`
    name: str
    verdict: str  # as of ab, or skipped
    ratio: float = math.nan
    low: float = math.nan
    high: float = math.nan
    pairs: int = 0  # of processes that the comparison had
    spread: float = 0.0  # standard deviation of their logarithms; 0: not known
    text: str = ""  # why it ended or was skipped
    run: str = ""  # of the comparison


class Bisection(msgspec.Struct, frozen=True, kw_only=True):
    """Which revision changed the speed, as far as is known."""

    key: str
    what: Literal["commit", "package"]
    package: str = ""
    names: tuple[str, ...]  # of all revisions, the good end first
    metric: str = ""
    budget: float  # seconds, for one comparison
    minimum: float
    confidence: float  # asked for
    build: str = ""
    tried: tuple[Tried, ...] = ()  # the bad end first
    effect: float = math.nan  # of the bad end, as a ratio
    suspects: tuple[str, ...] = ()  # the likeliest; several where some could not be measured
    chance: float = 0.0  # that it is one of them
    ended: str = ""
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["bisection"] = "bisection"
