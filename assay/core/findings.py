"""What follows from results: quantities with intervals, doubts, tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from assay.core.records import LONGEST_STEP, SHORTEST_STEP, Result

# Of what analysis makes of a result: a summary that another version made is made anew.
ANALYSIS = 9


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


class RunResults(Iterator[Result]):
    """Results as they come; from `readings`, each with its summary."""

    def __init__(self, readings: Iterator[Reading]) -> None:
        self.readings = readings

    def __next__(self) -> Result:
        return next(self.readings).result
