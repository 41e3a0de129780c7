"""What follows from results: quantities with intervals, doubts, tables."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from assay.records import SCHEMA, Result

Verdict = Literal["faster", "slower", "same", "cannot-tell"]


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """A number one may quote: with its interval, unit, estimator and count of values."""

    value: float
    low: float
    high: float
    unit: str
    estimator: str
    n: int


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """A reason not to believe a number yet, and what would mend it."""

    code: str
    text: str
    remedy: str = ""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity held against what was expected of it."""

    metric: str
    rule: Literal["at least", "within"]
    expected: float
    tolerance: float
    verdict: Literal["pass", "fail"]
    by: Literal["value", "interval"]  # what was held against it


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """One result, made smaller."""

    quantities: dict[str, Quantity] = {}
    doubts: tuple[Doubt, ...] = ()
    checks: tuple[Check, ...] = ()


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of text for any view; numbers are already in human units."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()  # columns set to the right
    title: str = ""
    notes: tuple[str, ...] = ()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A result together with what follows from it."""

    result: Result
    summary: Summary


class Trials(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one case over its trials."""

    key: str
    metric: str
    quantity: Quantity
    outliers: tuple[int, ...] = ()  # which trials, counted from 1


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one case under two labels; the ratio is second over first."""

    key: str
    metric: str
    first: Quantity
    second: Quantity
    ratio: float
    low: float
    high: float
    verdict: str  # faster, slower (of times), lower, higher, same, cannot-tell


class Unlikeness(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in which contenders of a workload differ."""

    workload: str
    what: str  # the fact or option
    text: str
    unfair: bool  # False: a case asked for it, or it is a framework's own choice


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """The least time a step can take by arithmetic alone."""

    multiply_adds: float  # of one item's forward pass
    items: int
    passes: int  # forward passes a step is worth
    flops: float  # of one step
    peak: float | None = None  # FLOP/s, measured; None: not known
    seconds: float | None = None


class Studied(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a study's readings together."""

    unlike: tuple[Unlikeness, ...] = ()
    floor: Floor | None = None
    bought: Table | None = None  # what each option bought; None: no two cases differ in one alone


class PairRatio(msgspec.Struct, frozen=True, kw_only=True):
    """Two contenders in one pair of fresh processes; the ratio is candidate over baseline."""

    ratio: float
    error: float  # standard error of its logarithm, within the pair
    turns: int
    baseline: str  # ids of the results
    candidate: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Which of two is faster, by how much, how sure; the ratio is candidate over baseline."""

    baseline: str = ""
    candidate: str = ""
    metric: str
    unit: str = ""
    verdict: Verdict
    ratio: Quantity
    pairs: tuple[PairRatio, ...]
    minimum: float  # what a smaller change is not called
    spread: float  # standard deviation of the pairs' logarithms: process-to-process noise
    middles: tuple[float, ...] = ()  # of baseline and candidate, over their processes
    ended: str = ""  # why it stopped, in words; "": it goes on
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()  # contenders that did not end well, in words
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["comparison"] = "comparison"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """How a contender of a race stands."""

    key: str
    state: Literal["in", "out", "failed", "wrong", "untried"]
    ratio: Quantity  # its time of an item over the leader's
    time: float = math.nan  # seconds: that of the leader, times the ratio
    heats: int
    reason: str = ""


class Race(msgspec.Struct, frozen=True, kw_only=True):
    """Who is fastest of many, as far as is known; the leader is the first of `places`."""

    places: tuple[Place, ...]
    metric: str
    minimum: float  # two that differ by less are as good as each other
    heats: int
    ended: str = ""  # why it stopped, in words; "": it goes on
    command: str = ""  # runs the leader again
    notes: tuple[str, ...] = ()
    run: str = ""
    schema: int = SCHEMA
    kind: Literal["race"] = "race"


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What one operation of a profiled model took, over all its calls."""

    name: str
    seconds: float  # its own: without operations inside it
    share: float  # of the time of all operations
    count: int
    place: str  # host or device
    source: str = ""  # what of the model it comes from, where the framework tells


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A case run under its framework's profiler."""

    result: Result
    folder: str = ""  # what TensorBoard opens
    trace: str = ""  # the file Perfetto opens
    plugin: str = ""  # of TensorBoard, for this kind of trace
    operations: tuple[Operation, ...] = ()  # all, those that took longest first
    notes: tuple[str, ...] = ()
