"""Any two selections of results: ratios with intervals, and a map of workload by backend."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

import msgspec

from assay.commands.compare import view
from assay.commands.compare.api import (
    ALL,
    Cases,
    Comparing,
    Differences,
    case_key,
    check_names,
    compare_results,
    group_of,
    matched,
)
from assay.commands.history.api import METRICS
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.records import SCHEMA, Query
from assay.core.series import KeptPoint
from assay.stats.compare_sets import Difference
from assay.stores.selection import select, selected
from assay.web.charts.kinds import Ratio, ratios_chart
from assay.web.page import Cell, Choice, Form, Grid, Page, Section, heat_cell, section

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


NOTE = (
    "from the index: each result counts as one process, and packages and hosts are not held "
    "against each other; assay compare opens every result"
)


def compare_points(
    store: Store, queries: tuple[Query, Query], names: tuple[str, str], how: Comparing
) -> Differences:
    """As `compare`, but no result is opened: a point of a series stands for each."""
    from assay.stats import compare_sets

    baseline, candidate = (_points(store, query, how.metric) for query in queries)
    if not (baseline and candidate):
        raise _nothing_shared(names, how.metric)
    check_names(how, {id(one.series): one.series for one in (*baseline, *candidate)}.values())
    before, after = (_cases(side, how.across) for side in (baseline, candidate))
    pairs, notes = matched(before, after, names)
    found = [one for key, sides in pairs.items() for one in _differences(key, *sides, how)]
    if not found:
        raise _nothing_shared(names, how.metric)
    return Differences(
        baseline=names[0],
        candidate=names[1],
        differences=tuple(found),
        means=tuple(compare_sets.means(found, how.minimum)),
        notes=(*notes, NOTE),
        minimum=how.minimum,
    )


def _nothing_shared(names: tuple[str, str], metric: str) -> UsageError:
    return UsageError(
        f"{names[0]} and {names[1]} have no metric in common"
        + (f" named '{metric}'." if metric else "."),
        hint="assay show RUN/NNN tells what a result has.",
    )


def _points(store: Store, query: Query, metric: str) -> list[KeptPoint]:
    """Of the metric that was asked for; else of the usual ones, if every result has one of them."""
    if metric:
        return store.points_of(query, () if metric == ALL else (metric,))
    from assay.stats.compare_sets import MAIN

    found = store.points_of(query, MAIN)
    whole = store.count(msgspec.structs.replace(query, status="ok"))
    return found if len({one.point.id for one in found}) == whole else store.points_of(query)


def _cases(points: Iterable[KeptPoint], across: str) -> Cases[KeptPoint]:
    found: Cases[KeptPoint] = {}
    for one in points:
        found.setdefault(case_key(one.series, across), []).append(one)
    return found


def _differences(
    key: str, first: Sequence[KeptPoint], second: Sequence[KeptPoint], how: Comparing
) -> list[Difference]:
    from assay.commands.compare import comparable
    from assay.stats import compare_sets

    before, after = _by_metric(first), _by_metric(second)
    apart = comparable.unlike_points(first[0], second[0])
    refused = [words for words in apart.refused if how.across not in words.split(":")[0].split()]
    found = []
    for metric in _wanted([name for name in before if name in after], how.metric):
        one, other = (
            compare_sets.points_side(before[metric]),
            compare_sets.points_side(after[metric]),
        )
        units = [f"unit: {one.unit} → {other.unit}"] if one.unit != other.unit else []
        not_same = [*(refused if not how.anyway else []), *units]
        made = compare_sets.difference(key, metric, one, other, how.minimum)
        found.append(
            msgspec.structs.replace(
                made,
                verdict="not-comparable" if not_same else made.verdict,
                group=group_of(first[0].series, how.by),
                notes=(*not_same, *apart.noted),
            )
        )
    return found


def _by_metric(points: Iterable[KeptPoint]) -> Cases[KeptPoint]:
    found: Cases[KeptPoint] = {}
    for one in points:
        found.setdefault(one.metric, []).append(one)
    return found


def _wanted(shared: Sequence[str], metric: str) -> Sequence[str]:
    if metric == ALL:
        return shared
    usual = next((name for name in METRICS if name in shared), min(shared, default=""))
    return [name for name in (metric or usual,) if name in shared]
