"""What follows from results: quantities with intervals, doubts, tables."""

from __future__ import annotations

import math
from typing import Any, Literal

import msgspec

from assay.core.records import LONGEST_STEP, SCHEMA, SHORTEST_STEP, Result

# Of what analysis makes of a result: a summary that another version made is made anew.
ANALYSIS = 9

Verdict = Literal["faster", "slower", "same", "cannot-tell"]


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """A number one may quote: with its interval, unit, estimator and count of values.

    `low` and `high` are nan where there is no interval: one value has none.
    """

    value: float
    low: float
    high: float
    unit: str
    estimator: str
    n: int


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """A reason not to believe a number yet, and what to do about it."""

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
    skipped: tuple[int, ...] = ()  # samples of each process that came before it was steady


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of text for any view; numbers are already in human units."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()  # columns set to the right
    title: str = ""
    notes: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()  # columns that text leaves out, the first of these first, to fit
    shortened: frozenset[str] = frozenset()  # columns that text cuts in the middle, to fit


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """What a verb shows: tables for people, the rest for programs. A format takes what it needs."""

    tables: tuple[Table, ...] = ()
    page: str = ""  # text for a terminal, in place of the tables
    document: Any = None  # for JSON; None: the rows of the values or tables
    values: Table | None = None  # plain numbers in SI units; None: the tables


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A result together with what follows from it."""

    result: Result
    summary: Summary

    def counted(self) -> list[tuple[float, ...]]:
        """The step times that the summary is made of, process by process."""
        found: dict[int, list[float]] = {}
        for part in self.result.own().samples:
            if part.metric == "step_time" and part.phase == "steady":
                found.setdefault(part.process, []).extend(part.values)
        longest = min(self.result.seconds or LONGEST_STEP, LONGEST_STEP)
        usable = [[v for v in part if SHORTEST_STEP <= v <= longest] for part in found.values()]
        skipped = self.summary.skipped or (0,) * len(usable)
        kept = filter(None, usable)
        return [tuple(part[skip:]) for part, skip in zip(kept, skipped, strict=False)]

    @property
    def own(self) -> dict[str, Quantity]:
        """Quantities of what assay measured, without those the program told under its names."""
        reported = self.result.reported
        return {name: q for name, q in self.summary.quantities.items() if name not in reported}


class Copied(msgspec.Struct, frozen=True, kw_only=True):
    """What a copy from one store to another found and did."""

    runs: int  # of the source
    results: int
    copied: int  # results that were not there before
    problems: tuple[str, ...] = ()  # what was passed over, in words


class Trials(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one case over its trials."""

    key: str
    metric: str
    quantity: Quantity
    outliers: tuple[int, ...] = ()  # which trials, counted from 1


class Unlikeness(msgspec.Struct, frozen=True, kw_only=True):
    """One thing in which contenders of a workload differ."""

    workload: str
    what: str  # the fact or option
    text: str
    unfair: bool  # False: a case chose it, or it is a framework's own choice

    def sentence(self, named: bool = True) -> str:
        """`named`: with the workload, where others may stand beside it."""
        text = f"{self.workload}: {self.text}" if named else self.text
        return f"UNFAIR: {text}" if self.unfair else text


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """The least time a step can take by arithmetic alone."""

    multiply_adds: float  # of one item's forward pass
    items: int
    passes: int  # forward passes a step is worth
    flops: float  # of one step
    peak: float | None = None  # FLOP/s, measured; None: not known
    seconds: float | None = None


class ScalePoint(msgspec.Struct, frozen=True, kw_only=True):
    """One number of devices: what it gives, and how much of what they could give together."""

    devices: int
    result: str  # its id
    status: str
    items: int = 0  # of one step, on all devices together
    throughput: Quantity | None = None  # of all devices; None: nothing was measured
    per_device: float = 0.0  # items/s
    efficiency: Quantity | None = None  # throughput over that of as many single devices
    communication: Quantity | None = None  # of a step, in percent; None: not asked for, or not told


class Studied(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a study's readings together."""

    unlike: tuple[Unlikeness, ...] = ()
    floor: Floor | None = None
    bought: Table | None = None  # what each option gains; None: no two cases differ in one alone


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
