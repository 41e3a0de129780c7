"""What follows from results: quantities with intervals, doubts, tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from assay.core.records import LONGEST_STEP, SHORTEST_STEP, Result

# Version of the analysis: summaries of other versions are computed again.
ANALYSIS_VERSION = 12

# Codes of doubts by severity: wrong work, other load on the machine, insufficient samples, wide
# intervals. Other codes come last.
SEVERITY = (
    *("not-waited-for", "counts-disagree", "above-peak", "no-samples", "unusable"),
    *("other-load", "steal", "throttled", "quota", "swap", "shared-cores"),
    *("drift", "no-steady-state", "two-modes", "few-samples", "spread"),
    *("few-for-percentiles", "target-missed", "governor", "monitor-cost", "one-process"),
)


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """A number with its interval, unit, estimator and count of values.

    `low` and `high` are nan where there is no interval: one value has none.
    """

    value: float
    low: float
    high: float
    unit: str
    estimator: str
    n: int


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """A reason to distrust a number, and its remedy."""

    code: str
    text: str
    remedy: str = ""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity compared to its expected value."""

    metric: str
    rule: Literal["at least", "within"]
    expected: float
    tolerance: float
    verdict: Literal["pass", "fail"]
    by: Literal["value", "interval"]  # what was compared


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of one result."""

    quantities: dict[str, Quantity] = {}
    doubts: tuple[Doubt, ...] = ()
    checks: tuple[Check, ...] = ()
    skipped: tuple[int, ...] = ()  # samples per process before the steady state


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of text; numbers are formatted with units."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[str] = frozenset()  # right-aligned columns
    title: str = ""
    notes: tuple[str, ...] = ()
    spare: tuple[str, ...] = ()  # columns dropped in this order if the terminal is too narrow
    shortened: frozenset[str] = frozenset()  # columns shortened in the middle to fit


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """Output of a command: tables for people, the rest for programs."""

    tables: tuple[Table, ...] = ()
    header: str = ""  # text for a terminal, above the tables
    page: str = ""  # text for a terminal, in place of the tables
    document: Any = None  # for JSON; None: the rows of the values or tables
    values: Table | None = None  # plain numbers in SI units; None: the tables


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The fastest of several results: the highest rate, and the nearest that it may not beat, or
    else the next."""

    first: str  # ids of results
    other: str
    ratio: float  # of their rates
    certain: bool  # the first is faster than every other
    few: bool  # one of both has fewer effective samples than are needed
    processes: tuple[int, int]


class SummarizedResult(msgspec.Struct, frozen=True, kw_only=True):
    """A result and its summary."""

    result: Result
    summary: Summary

    def steady_values(self) -> list[tuple[float, ...]]:
        """Step times that the summary uses, by process."""
        by_process: dict[int, list[float]] = {}
        for part in self.result.measured_only().samples:
            if part.metric == "step_time" and part.phase == "steady":
                by_process.setdefault(part.process, []).extend(part.values)
        longest = min(self.result.seconds or LONGEST_STEP, LONGEST_STEP)
        usable = [
            [v for v in part if SHORTEST_STEP <= v <= longest] for part in by_process.values()
        ]
        skipped = self.summary.skipped or (0,) * len(usable)
        kept = filter(None, usable)
        return [tuple(part[skip:]) for part, skip in zip(kept, skipped, strict=False)]

    @property
    def measured_only(self) -> dict[str, Quantity]:
        """Quantities that assay measured, without those that the program reported."""
        reported = self.result.reported_metrics
        return {name: q for name, q in self.summary.quantities.items() if name not in reported}


class Mismatch(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing in which contenders of a workload differ."""

    workload: str
    what: str  # the fact or option
    text: str
    unfair: bool  # False: a case chose it, or it is a framework's own choice
    wrong: Mapping[str, float] = {}  # result → difference of its outputs, of the largest

    def sentence(self, named: bool = True) -> str:
        """`named`: prefixed with the workload."""
        text = f"{self.workload}: {self.text}" if named else self.text
        return f"UNFAIR: {text}" if self.unfair else text
