"""Any two selections of results: ratios with intervals, and a map of workload by backend."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from assay.commands.compare import view
from assay.commands.compare.api import Comparing, compare_results
from assay.core.contracts import Store
from assay.core.differences import Difference, Differences
from assay.core.errors import UsageError
from assay.core.records import SCHEMA, Query
from assay.stores.selection import select, selected
from assay.web.charts.kinds import Ratio, ratios_chart
from assay.web.page import Cell, Choice, Form, Grid, Page, Section, heat_cell, section
from assay.web.pages.fold_verbs_compare_points import compare_points

DRAWN = 60  # ratios in one chart
OPENED = 100  # results that are opened for one page; of more, the index tells
FILLED = 0.4  # of a map: with less there is nothing to see
CHOICES = 30  # newest runs and labels to choose from


def compare_page(store: Store, given: dict[str, str]) -> Page:
    """Kept results only: a file of this machine is nobody's to read here."""
    baseline, candidate = given.get("a", ""), given.get("b", "")
    if not (baseline and candidate):
        return _page(store, given, "Choose two runs, labels, tags, commits or days.")
    try:
        found = _found(store, (baseline, candidate), given)
    except UsageError as error:
        return _page(store, given, f"{error} {error.hint}")
    return _page(store, given, _lead(found), found)


def _found(store: Store, names: tuple[str, str], given: dict[str, str]) -> Differences:
    """As `assay compare` answers; where that would open very many results, from the index."""
    how = Comparing(metric=given.get("metric", ""), by=given.get("by", ""))
    baseline, candidate = (selected(store, name) for name in names)
    if store.count(baseline) + store.count(candidate) > OPENED:
        return compare_points(store, (baseline, candidate), names, how)
    return compare_results(select(store, names[0]), select(store, names[1]), names, how)


def _page(store: Store, given: dict[str, str], lead: str, found: Differences | None = None) -> Page:
    sides = [given.get(side) or side.upper() for side in ("a", "b")]
    return Page(
        title="Compare",
        lead=lead,
        command=f"assay compare {' '.join(map(shlex.quote, sides))}",
        document=found or {"schema": SCHEMA, "kind": "differences", "error": lead},
        sections=tuple(_sections(found)) if found else (),
        form=Form(action="/compare", fields=_fields(store, given)),
    )


def _fields(store: Store, given: dict[str, str]) -> tuple[Choice, ...]:
    entries = store.entries(Query(limit=2_000))[::-1]
    labels = dict.fromkeys(f"label:{entry.label}" for entry in entries if entry.label)
    known = [*list(labels)[:CHOICES], *list(dict.fromkeys(e.run for e in entries))[:CHOICES]]
    return (
        *(_side(name, text, given.get(name, ""), known) for name, text in _SIDES.items()),
        Choice(name="metric", label="metric (empty: the usual one)", value=given.get("metric", "")),
        Choice(name="by", label="means by, such as backend", value=given.get("by", "")),
    )


_SIDES = {"a": "baseline", "b": "candidate"}


def _side(name: str, label: str, value: str, known: Sequence[str]) -> Choice:
    """A list of what is new, with what the address asks for in it."""
    choices = ["", *known] if value in {"", *known} else ["", value, *known]
    return Choice(name=name, label=label, value=value, choices=tuple((c, c) for c in choices))


def _lead(found: Differences) -> str:
    whole = next((mean for mean in found.means if not mean.group), None)
    if whole is None:
        shown = {one.key for one in found.differences}
        return f"{found.candidate} beside {found.baseline}: {', '.join(sorted(shown)[:3])}."
    return (
        f"{found.candidate} over {found.baseline}: {whole.ratio.value:.3f} by the geometric mean "
        f"of {whole.ratio.n} cases: {whole.verdict}."
    )


def _sections(found: Differences) -> list[Section]:
    shown = [one for one in found.differences if one.verdict != "not-comparable"]
    rows = [Ratio(name=o.key, value=o.ratio, low=o.low, high=o.high) for o in shown[:DRAWN]]
    heat = _heat(shown)
    return [
        Section(title="Ratios", chart=ratios_chart("candidate over baseline", rows, found.minimum)),
        *([section(view.means_table(found.means), "Geometric means")] if found.means else []),
        *([Section(title="Workload by backend", grid=heat)] if heat else []),
        section(view.cases_table(found), "Cases"),
    ]


def _heat(shown: Sequence[Difference]) -> Grid | None:
    """A cell for each workload on each backend; nothing where one of them hardly varies."""
    cells = {tuple(one.key.rpartition("@")[::2]): one.ratio for one in shown}
    rows, columns = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    if min(len(rows), len(columns)) < 2 or len(cells) < FILLED * len(rows) * len(columns):
        return None
    return Grid(
        columns=("workload", *columns),
        rows=tuple(
            (Cell(text=row), *(heat_cell(cells.get((row, column))) for column in columns))
            for row in rows
        ),
        numeric=frozenset(columns),
    )
