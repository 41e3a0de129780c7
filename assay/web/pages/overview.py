"""The first page, and the list of runs: is anything slower, what failed, what is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from assay.commands.check import view
from assay.commands.check.report import CheckReport, status
from assay.core.contracts import Store
from assay.core.records import SCHEMA, Query
from assay.core.series import Entry
from assay.web.page import Cell, Choice, Form, Grid, Link, Page, Section
from assay.web.pages import PageRoute
from assay.web.pages.check import gate_section
from assay.web.pages.findings import Finding, Findings

NEWEST, MAX_RUNS = 2_000, 50  # results that the first page is about, and runs of one page
COLUMNS = ("run", "started", "cases", "results", "failed", "label")
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
            "runs": [_plain_run(run, group) for run, group in _group_by_run(entries)[:MAX_RUNS]],
            "machines": dict(Counter(entry.machine for entry in entries)),
        },
        sections=(
            *([gate_section("Regressions and suspects", flagged, False)] if flagged else []),
            *([_changes(findings)] if findings else []),
            Section(title="Latest runs", grid=runs_grid(entries, 12), links=(_all_runs(),)),
            Section(title="What failed lately", grid=_failures(failed[:12])),
            _machines(entries),
        ),
    )


def runs_page(store: Store, params: dict[str, str]) -> Page:
    """All runs, the newest first; by label, workload, backend or status."""
    names = ("label", "workload", "backend", "status", "machine", "since", "until")
    query = Query(limit=NEWEST, **{name: params.get(name, "") for name in names})  # type: ignore[arg-type]
    entries = store.entries(query)
    fields = tuple(Choice(name=name, label=name, value=params.get(name, "")) for name in names)
    return Page(
        title="Runs",
        lead=f"Of the newest {NEWEST} results." if len(entries) == NEWEST else "",
        command="assay list results",
        document={
            "schema": SCHEMA,
            "kind": "runs",
            "runs": [_plain_run(run, group) for run, group in _group_by_run(entries)],
        },
        sections=(Section(title="", grid=runs_grid(entries, 0)),),
        form=Form(action="/runs", fields=fields),
    )


def runs_grid(entries: Sequence[Entry], limit: int) -> Grid:
    runs = _group_by_run(entries)
    return Grid(
        columns=COLUMNS,
        rows=tuple(_row(run, group) for run, group in (runs[:limit] if limit else runs)),
        numeric=frozenset({"results", "failed"}),
        empty="No result matches. Clear a field to see more.",
    )


def _group_by_run(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """The newest first."""
    runs: dict[str, list[Entry]] = {}
    for entry in reversed(entries):
        runs.setdefault(entry.run, []).append(entry)
    return list(runs.items())


def _row(run: str, entries: Sequence[Entry]) -> tuple[Cell, ...]:
    failed = sum(entry.status not in {"ok", "skipped"} for entry in entries)
    cases = list(dict.fromkeys(entry.key for entry in reversed(entries)))
    more = f" and {len(cases) - 2} more" if len(cases) > 2 else ""
    return (
        Cell(text=run, to=f"/runs/{run}"),
        Cell(text=entries[-1].started[:16].replace("T", " ")),
        Cell(text=", ".join(cases[:2]) + more),
        Cell(text=str(len(entries)), sort=len(entries)),
        Cell(text=str(failed) if failed else "", style="bad" if failed else "", sort=failed),
        Cell(text=entries[0].label),
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


def _plain_run(run: str, entries: Sequence[Entry]) -> dict[str, object]:
    return {
        "run": run,
        "started": entries[-1].started,
        "label": entries[0].label,
        "results": len(entries),
        "failed": sum(entry.status not in {"ok", "skipped"} for entry in entries),
        "cases": list(dict.fromkeys(entry.key for entry in reversed(entries))),
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
