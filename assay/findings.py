"""What follows from results: quantities with intervals, doubts, tables."""

from __future__ import annotations

from typing import Literal

import msgspec

from assay.records import Result


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
