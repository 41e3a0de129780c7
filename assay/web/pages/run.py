"""One run: its table with drawn intervals, its verdict, its failures, its files."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec
from markupsafe import Markup

from assay.commands.list.api import numbers_text
from assay.core.contracts import Store
from assay.core.errors import StoreError
from assay.core.findings import SummarizedResult
from assay.core.records import SCHEMA, Query
from assay.reporting import results
from assay.reporting.timings import winner_text
from assay.stats import stored_summary
from assay.stats.fairness.checks import fairness
from assay.stats.winner import rank
from assay.stores.read import drop_superseded
from assay.stores.runs import COMPARISON, RACE, how_to_resume, verb_of
from assay.web.charts.scale import Scale, make_scale
from assay.web.charts.svg import interval_cell
from assay.web.page import Cell, Facts, Grid, Link, Mood, Page, Section, table_grid
from assay.web.pages import PageRoute
from assay.web.pages.verdicts import verdict

# column of a table → the quantity or peak it is sorted by
QUANTITIES = {
    "step time": "step_time",
    "95 % interval": "step_time",
    "items/s": "throughput",
    "first step": "first_step",
}
PEAKS = {"memory": "max_rss", "gpu memory": "max_gpu_memory", "energy": "energy_joules"}


# commands whose verdict says it all → what its results are called below
_FOLDED_TITLES = {"ab": "Processes", "race": "Processes", "bench": "Every trial"}
PAGES = (PageRoute("/runs/{run}", lambda store, query, _: run_page(store, query["run"])),)


def run_page(store: Store, text: str) -> Page:
    run = store.find_run(text)
    readings = [
        stored_summary.read(store, r) for r in drop_superseded(store.results(Query(ids=(run,))))
    ]
    verb = verb_of(store, run)
    conclusion = verdict(store, run, verb, readings)
    lead, mood = _lead(store, run, readings)
    return Page(
        title=run,
        lead=f"{conclusion.sentence[:1].upper()}{conclusion.sentence[1:]}. {lead}"
        if conclusion.sentence
        else lead,
        mood=conclusion.mood if conclusion.sentence else mood,
        command=f"assay show {run}",
        document={
            **results.results_document(readings, fairness(r.result for r in readings)),
            "kind": "run",
            "run": run,
            "verb": verb,
            "schema": SCHEMA,
        },
        sections=(
            *conclusion.sections,
            *_result_sections(store, run, readings, verb, bool(conclusion.sentence)),
            *_failures(readings),
            *_unreadable(store),
            _about(store, run, verb, readings),
        ),
    )


def _result_sections(
    store: Store, run: str, readings: Sequence[SummarizedResult], verb: str, decided: bool
) -> list[Section]:
    """The results; of a bisect they are those of its comparisons."""
    if readings:
        return [_results(run, readings, verb)]
    return [] if decided else [_no_results(store, run)]


def _lead(store: Store, run: str, readings: Sequence[SummarizedResult]) -> tuple[str, Mood]:
    if not readings:
        return "", ""
    good = sum(reading.result.status == "ok" for reading in readings)
    words = f"{good} of {len(readings)} results ended well"
    if store.document(run, COMPARISON) is None and store.document(run, RACE) is None:
        ranking = rank(readings, fairness(reading.result for reading in readings))
        main = winner_text(readings, ranking) or numbers_text(readings, 0)
        words = f"{main[:1].upper()}{main[1:]}. {words}" if main else words
    try:
        planned = len({case.key for case in store.plan(run).cases})
    except StoreError:
        planned = 0
    known = {reading.result.case.key for reading in readings}
    if planned > len(known):
        words += f"; {planned - len(known)} of {planned} cases have none yet"
    return f"{words}.", "good" if good == len(readings) > 0 else "bad"


def _results(run: str, readings: Sequence[SummarizedResult], verb: str) -> Section:
    mismatches = fairness(reading.result for reading in readings)
    table = results.table(readings, mismatches, ranking=rank(readings, mismatches))
    steps = [reading.measured_only.get("step_time") for reading in readings]
    ends = [end for step in steps if step for end in (step.low, step.value, step.high)]
    scale = make_scale(ends)
    by_id = {reading.result.id: reading for reading in readings}
    rows = []
    for number, row in enumerate(table_grid(table).rows):
        reading = by_id.get(row[0].text) or readings[number]  # of tasks: a row a metric, by its id
        to = f"/runs/{reading.result.id}"
        first = msgspec.structs.replace(row[0], to=to)
        if table.columns[:2] == ("id", "case"):  # the id is not in a narrow window
            row = (row[0], msgspec.structs.replace(row[1], to=to), *row[2:])
        cells = _sort_cells(row[1:-1], table.columns[1:-1], reading, scale)
        rows.append((first, *cells, _status(row[-1], reading)))
    return Section(
        title=_FOLDED_TITLES.get(verb, "Results"),
        grid=Grid(
            columns=table.columns,
            rows=tuple(rows),
            numeric=table.numeric,
            minor=frozenset(table.spare) - {"status"} | {"95 % interval"},
        ),
        notes=table.notes,
        closed=verb in _FOLDED_TITLES,
        links=(Link(text="Speed against memory and energy", to=f"/tradeoffs?of={run}"),)
        if sum("throughput" in reading.measured_only for reading in readings) > 1
        else (),
    )


def _sort_cells(
    cells: Sequence[Cell], columns: Sequence[str], reading: SummarizedResult, scale: Scale
) -> list[Cell]:
    """Cells with their sort value, and drawn intervals."""
    sorted_cells = []
    for column, cell in zip(columns, cells, strict=True):
        quantity = reading.measured_only.get(QUANTITIES.get(column, column))
        value = quantity.value if quantity else reading.result.peaks.get(PEAKS.get(column, ""))
        sort = value if value is not None and math.isfinite(value) else None
        drawing = Markup()
        if column == "95 % interval" and quantity:
            drawing = interval_cell(quantity.low, quantity.value, quantity.high, scale)
        sorted_cells.append(msgspec.structs.replace(cell, sort=sort, drawing=drawing))
    return sorted_cells


def _status(cell: Cell, reading: SummarizedResult) -> Cell:
    good = reading.result.status == "ok" and all(
        c.verdict == "pass" for c in reading.summary.checks
    )
    return msgspec.structs.replace(cell, style="good" if good else "bad")


def _failures(readings: Sequence[SummarizedResult]) -> list[Section]:
    failed = [r.result for r in readings if r.result.status != "ok"]
    if not failed:
        return []
    rows = tuple(
        (
            Cell(text=result.case.key, to=f"/runs/{result.id}"),
            Cell(text=result.status, style="bad"),
            Cell(text=result.reason),
        )
        for result in failed
    )
    return [
        Section(title="What failed", grid=Grid(columns=("case", "status", "reason"), rows=rows))
    ]


def _unreadable(store: Store) -> list[Section]:
    problems = tuple(dict.fromkeys(store.problems))
    return [Section(title="What cannot be read", notes=problems)] if problems else []


def _about(store: Store, run: str, verb: str, readings: Sequence[SummarizedResult]) -> Section:
    items = [("made by", f"assay {verb}")]
    if readings:
        first = readings[0].result
        all_tags = [reading.result.tags.items() for reading in readings]
        shared = [tag for tag in first.tags.items() if all(tag in tags for tags in all_tags)]
        items += [
            ("label", first.label),
            ("tags", ", ".join(f"{name}={value}" for name, value in shared)),
            ("started", first.started[:19].replace("T", " ")),
            ("machine", str(first.environment.machine.get("cpu", ""))),
            ("commit", str(first.environment.git.get("commit", ""))[:12]),
            ("command", _command(first.environment.command)),
        ]
    return Section(title="About this run", facts=Facts(items=tuple(i for i in items if i[1])))


def _command(words: Sequence[str]) -> str:
    """Without the folder of the program."""
    return shlex.join([Path(words[0]).name, *words[1:]]) if words else ""


def _no_results(store: Store, run: str) -> Section:
    return Section(
        title="Results",
        text="No result yet: it is still running, or it was interrupted.",
        notes=(f"To continue: {how_to_resume(store, run)}",),
    )
