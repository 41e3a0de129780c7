"""The report of a check: what was found in each series, and what it means together."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from assay.core.errors import AssayError
from assay.core.findings import Output
from assay.core.records import SCHEMA
from assay.reporting.python_view import TableView
from assay.stats.gate import Judgement, Threshold

Outcome = Literal["", "confirmed", "refuted", "undecided", "accepted"]


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
    first_id: str = ""  # first result of the candidate
    baseline_points: int = 0
    candidate_points: int = 0
    outcome: Outcome = ""  # of measuring both again, or of a user
    confirmation: str = ""  # in words
    since: str = ""  # of a regression that is open: when the candidate begins
    run: str = ""  # of the measurements that decided


class CheckReport(TableView, msgspec.Struct, frozen=True, kw_only=True):
    """A whole check: every series, and what it means together."""

    found: tuple[CheckedSeries, ...]
    level: float  # share of false alarms among alarms, over all series together
    since: str = ""  # the baseline, in words
    named: bool = False  # whether a baseline was named
    confirmed: bool = False  # whether suspects were measured again
    alerts: tuple[str, ...] = ()  # how each alert fared, in words
    notes: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()  # on which most series got worse at once, in words
    schema: int = SCHEMA
    kind: Literal["check"] = "check"

    def __iter__(self) -> Iterator[CheckedSeries]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def best(self) -> CheckedSeries:
        """The series that improved most."""
        improved = [series for series in self.found if series.judgement == "improvement"]
        if not improved:
            raise AssayError("No series improved.")
        return max(improved, key=lambda series: abs(math.log(series.size)))

    def to_dicts(self) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(series) for series in self.found]

    def _output(self) -> Output:
        from assay.commands.check.view import output

        return output(self)


def status(checked: CheckReport) -> int:
    """Exit status: 5 for a regression, 6 if undecided, 0 if fine.

    Undecided is a suspect until it has been measured again, a machine on which most series changed,
    and a check against a named baseline with which nothing can be compared.
    """
    outcomes = {series.outcome for series in checked.found}
    if "confirmed" in outcomes:
        return 5
    if "undecided" in outcomes:
        return 6
    judgements = {series.judgement for series in checked.found if not series.outcome}
    if "regression" in judgements:
        return 5
    nothing = checked.named and judgements == {"not-comparable"}
    return 6 if "suspect" in judgements or nothing or checked.machines else 0
