"""The first page, and the list of runs: is anything slower, what failed, what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from assay.commands.check import view
from assay.commands.check.report import CheckReport, status
from assay.commands.list.api import RunLine, list_runs
from assay.core.contracts import Store
from assay.core.records import SCHEMA, Query
from assay.core.series import Entry
from assay.core.units import human
from assay.web.page import Cell, Choice, Form, Grid, Link, Page, Section, mood_of
from assay.web.pages import PageRoute
from assay.web.pages.check import gate_section
from assay.web.pages.findings import Finding, Findings
from assay.web.pages.machines import machine_sections

NEWEST, MAX_RUNS = 2_000, 50  # results that the first page is about, and runs of one page
MAX_LISTED = 100  # runs of the list
COLUMNS = ("result", "command", "cases", "started", "failed", "label", "run")
MAIN_METRICS = ("step_time", "accuracy", "wall_time", "throughput")
PAGES = (
    PageRoute("/", lambda store, _, known: overview_page(store, known), "Overview", 1, True),
    PageRoute("/runs", lambda store, query, _: runs_page(store, query), "Runs", 2, True),
)


def overview_page(store: Store, known: Findings) -> Page:
    """`known` caches findings, and analyses series with new points."""
    entries = store.entries(Query(limit=NEWEST))
    if not entries:
        return _empty()
    findings = known.update(store)
    known.start_thread()
    slower = [finding for finding in findings if finding.worse]
    failed = [entry for entry in entries if entry.status not in {"ok", "skipped"}][::-1]
    checked = known.check(store)
    flagged = checked if checked and status(checked) else None
    lead = _lead(slower, findings, known.waiting, flagged)
    lines, _ = list_runs(store, Query(limit=NEWEST), MAX_RUNS, numbers=read_numbers)
    return Page(
        title="Overview",
        lead=lead,
        mood="bad" if slower or flagged else "good",
        command="assay check",
        document={
            "schema": SCHEMA,
            "kind": "overview",
            "lead": lead,
            "findings": msgspec.to_builtins(findings),
            "failed": [_plain(entry) for entry in failed[:MAX_RUNS]],
            "runs": [_plain_run(line) for line in lines[::-1]],
            "machines": dict(Counter(entry.machine for entry in entries)),
        },
        sections=(
            *machine_sections(lines, findings, checked),
            *([gate_section("Regressions and suspects", flagged, False)] if flagged else []),
            *([_changes(findings)] if findings else []),
            Section(title="Latest runs", grid=runs_grid(lines[:-13:-1]), links=(_all_runs(),)),
            Section(title="What failed lately", grid=_failures(failed[:12])),
            _machines(entries),
        ),
    )


def runs_page(store: Store, params: dict[str, str]) -> Page:
    """The newest runs, each with its verdict; by label, workload, backend or status."""
    names = ("label", "workload", "backend", "status", "machine", "since", "until")
    query = Query(limit=NEWEST, **{name: params.get(name, "") for name in names})  # type: ignore[arg-type]
    lines, more = list_runs(store, query, MAX_LISTED, numbers=read_numbers)
    fields = tuple(Choice(name=name, label=name, value=params.get(name, "")) for name in names)
    return Page(
        title="Runs",
        lead=f"The newest {len(lines)} runs; {more} older ones: narrow the dates." if more else "",
        command="assay list",
        document={
            "schema": SCHEMA,
            "kind": "runs",
            "runs": [_plain_run(line) for line in lines[::-1]],
        },
        sections=(Section(title="", grid=runs_grid(lines[::-1])),),
        form=Form(action="/runs", fields=fields),
    )


def runs_grid(lines: Sequence[RunLine]) -> Grid:
    """The newest first."""
    return Grid(
        columns=COLUMNS,
        rows=tuple(map(_row, lines)),
        numeric=frozenset({"failed"}),
        minor=frozenset({"run", "started", "label", "failed"}),
        empty="No result matches. Clear a field to see more.",
    )


def read_numbers(store: Store, runs: Sequence[str]) -> dict[str, str]:
    """Run → its main metric, or the range over its cases, from the index."""
    values: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for point in store.points_of(Query(ids=runs), MAIN_METRICS) if runs else ():
        metrics = values.setdefault(point.point.id.partition("/")[0], {})
        metrics.setdefault(point.metric, []).append((point.point.value, point.unit))
    return {
        run: _range_text(name, metrics[name])
        for run, metrics in values.items()
        for name in [next(name for name in MAIN_METRICS if name in metrics)]
    }


def _range_text(name: str, values: Sequence[tuple[float, str]]) -> str:
    ends = dict.fromkeys(human(value, unit) for value, unit in (min(values), max(values)))
    return f"{name.replace('_', ' ')} {' to '.join(ends)}"


def _row(line: RunLine) -> tuple[Cell, ...]:
    return (
        Cell(
            text=line.short_headline or f"{line.results} results",
            to=f"/runs/{line.run}",
            style=mood_of(line.headline),
        ),
        Cell(text=line.verb),
        Cell(text=line.request),
        Cell(text=line.started[:16].replace("T", " ")),
        Cell(text=str(line.failed or ""), style="bad" if line.failed else "", sort=line.failed),
        Cell(text=line.label),
        Cell(text=line.run.rpartition("-")[2], to=f"/runs/{line.run}"),
    )


def _failures(failed: Sequence[Entry]) -> Grid:
    return Grid(
        columns=("case", "status", "when"),
        rows=tuple(
            (
                Cell(text=entry.key, to=f"/runs/{entry.id}"),
                Cell(text=entry.status, style="bad"),
                Cell(text=entry.started[:16].replace("T", " ")),
            )
            for entry in failed
        ),
        empty="Nothing failed.",
    )


def _changes(findings: Sequence[Finding]) -> Section:
    return Section(
        title="What changed",
        grid=Grid(
            columns=("series", "metric", "change", "since", "machine"),
            rows=tuple(finding.row() for finding in findings[:20]),
            numeric=frozenset({"change"}),
            minor=frozenset({"metric", "since", "machine"}),
        ),
        links=(Link(text="All series", to="/history"), Link(text="The gate", to="/check")),
    )


def _machines(entries: Sequence[Entry]) -> Section:
    counts = Counter(entry.machine or "unknown" for entry in entries)
    rows = tuple(
        (Cell(text=name), Cell(text=str(count), sort=count))
        for name, count in counts.most_common(20)
    )
    grid = Grid(columns=("machine", "results"), rows=rows, numeric=frozenset({"results"}))
    return Section(title="Machines", grid=grid)


def _lead(
    slower: Sequence[Finding],
    findings: Sequence[Finding],
    waiting: int,
    flagged: CheckReport | None,
) -> str:
    if flagged:
        gate = view.headline(flagged)
        return f"{gate[0].upper()}{gate[1:]}."
    what = "series has" if len(slower) == 1 else "series have"
    words = f"{len(slower)} {what} become slower" if slower else "Nothing has become slower"
    words += "; what else changed is below" if findings and not slower else ""
    return f"{words}, of those checked so far ({waiting} left)." if waiting else f"{words}."


def _all_runs() -> Link:
    return Link(text="All runs", to="/runs")


def _plain(entry: Entry) -> dict[str, str]:
    return {name: getattr(entry, name) for name in ("id", "key", "status", "started", "label")}


def _plain_run(line: RunLine) -> dict[str, object]:
    return {
        "run": line.run,
        "started": line.started,
        "command": line.verb,
        "result": line.headline,
        "label": line.label,
        "results": line.results,
        "failed": line.failed,
        "cases": line.cases,
    }


def _empty() -> Page:
    return Page(
        title="Overview",
        lead="Nothing has been measured yet.",
        command="assay run mnist-mlp",
        document={"schema": SCHEMA, "kind": "overview", "runs": [], "findings": [], "failed": []},
        sections=(
            Section(
                title="Begin here",
                text="Measure a small model on every backend there is, then reload this page:",
                log="assay run mnist-mlp",
            ),
        ),
    )
