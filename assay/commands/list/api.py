"""Runs, each in one line: command, what was requested, verdict or headline number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec

from assay.commands.list.view import main_quantity
from assay.core.contracts import Store
from assay.core.errors import StoreError
from assay.core.findings import SummarizedResult
from assay.core.records import Query
from assay.core.series import Entry
from assay.core.units import human, percent_change
from assay.reporting.accuracy import status_text
from assay.stores.read import summarize_results
from assay.stores.runs import BISECTION, COMPARISON, RACE, TUNING, read_document, verb_of

MAX_HEADLINE = 80  # characters of a verdict in a table
MAX_RESULTS = 40  # of a run, that its headline is read from


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a list."""

    run: str
    started: str
    verb: str
    request: str  # the cases, shortened
    cases: list[str] = []
    headline: str  # verdict, or main metric
    results: int
    failed: int
    machine: str
    label: str

    @property
    def short_headline(self) -> str:
        """For a cell of a table."""
        if len(self.headline) <= MAX_HEADLINE:
            return self.headline
        return f"{self.headline[: MAX_HEADLINE - 1].rpartition(' ')[0]} …"


def list_runs(
    store: Store,
    query: Query,
    limit: int,
    numbers: Callable[[Store, Sequence[str]], Mapping[str, str]] | None = None,
) -> tuple[list[RunLine], int]:
    """The newest runs with a result that matches, oldest first, and the number of older ones.

    `numbers` reads the main metrics of runs without a verdict, all at once; by default each run's
    results are opened.
    """
    runs: dict[str, list[Entry]] = {}
    for entry in store.entries(query):
        runs.setdefault(run_of(entry), []).append(entry)
    newest = sorted(runs, key=lambda run: runs[run][-1].started)
    shown = newest[-limit:] if limit else newest
    known = numbers(store, shown) if numbers else None
    return [run_line(store, run, runs[run], known) for run in shown], len(newest) - len(shown)


def run_of(entry: Entry) -> str:
    """The run that a result belongs to: that of the bisect, for a comparison of two revisions."""
    return entry.tags.get("bisect") or entry.run


def is_part_of_comparison(entry: Entry) -> bool:
    """Whether a result is a process of an ab, race or bisect, which has a verdict of its own."""
    return {"pair", "contender"} <= entry.tags.keys() or {"heat", "order"} <= entry.tags.keys()


def run_line(
    store: Store, run: str, entries: Sequence[Entry], known: Mapping[str, str] | None = None
) -> RunLine:
    cases = list(dict.fromkeys(entry.key for entry in entries))
    failed = sum(entry.status not in {"ok", "skipped"} for entry in entries)
    return RunLine(
        run=run,
        started=entries[0].started,
        verb=verb_of(store, run),
        request=", ".join(cases[:2]) + (f" and {len(cases) - 2} more" if len(cases) > 2 else ""),
        cases=cases,
        headline=run_headline(store, run)
        or (_numbers(store, run, failed) if known is None else _known_numbers(known, run, failed)),
        results=len(entries),
        failed=failed,
        machine=entries[0].machine,
        label=entries[0].label,
    )


def run_headline(store: Store, run: str) -> str:
    """The verdict of an ab, race, bisect or tune; "" of other runs and without one."""
    for name, headline in HEADLINES.items():
        if store.document(run, name) is not None:
            try:
                return headline(store, run)
            except StoreError as error:
                return f"unreadable: {error}"
    return ""


def _ab_headline(store: Store, run: str) -> str:
    from assay.stats.paired_ratio import Comparison  # here, as below: with numpy

    comparison = read_document(store, run, COMPARISON, Comparison)
    if not comparison.ratio.n:
        return comparison.verdict
    return f"{comparison.verdict}: {comparison.metric} {percent_change(comparison.ratio.value)}"


def _race_headline(store: Store, run: str) -> str:
    from assay.commands.race.ranking import Race
    from assay.commands.race.view import headline

    return headline(read_document(store, run, RACE, Race))


def _bisect_headline(store: Store, run: str) -> str:
    from assay.commands.bisect.api import Bisection
    from assay.commands.bisect.view import headline

    return headline(read_document(store, run, BISECTION, Bisection))


def _tune_headline(store: Store, run: str) -> str:
    from assay.commands.tune.view import headline
    from assay.native.tuner.records import Tuning

    return headline(read_document(store, run, TUNING, Tuning))


HEADLINES: dict[str, Callable[[Store, str], str]] = {  # document of a run → its headline
    COMPARISON: _ab_headline,
    RACE: _race_headline,
    BISECTION: _bisect_headline,
    TUNING: _tune_headline,
}


def _known_numbers(known: Mapping[str, str], run: str, failed: int) -> str:
    return ", ".join(filter(None, (known.get(run, ""), f"{failed} failed" if failed else "")))


def _numbers(store: Store, run: str, failed: int) -> str:
    readings = summarize_results(store, Query(ids=(run,), limit=MAX_RESULTS))
    return numbers_text(list(readings), failed)


def numbers_text(readings: Sequence[SummarizedResult], failed: int) -> str:
    """`step time 0.42 ms`, or the range over the cases of the run."""
    mains = [main_quantity(reading) for reading in readings]
    name = next((name for name, quantity in mains if quantity), "")
    values = [q for own, q in mains if own == name and q and math.isfinite(q.value)]
    texts = [f"{failed} failed"] if failed else []
    if values:
        low, high = (pick(values, key=lambda each: each.value) for pick in (min, max))
        ends = dict.fromkeys(human(each.value, each.unit) for each in (low, high))
        texts = [f"{name.replace('_', ' ')} {' to '.join(ends)}", *texts]
    elif readings and not failed:
        texts = [status_text(readings[0])]
    return ", ".join(texts)
