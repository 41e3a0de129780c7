"""Any two selections of results: ratios with intervals, and a map of workload by backend."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from assay.commands.compare import view
from assay.commands.compare.api import (
    ALL_METRICS,
    CompareOptions,
    Differences,
    ResultsByCase,
    case_key,
    check_names,
    compare_results,
    group_name,
    match_cases,
)
from assay.commands.history.api import METRICS
from assay.commands.list.api import RunLine, list_runs
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.records import SCHEMA, Query
from assay.core.series import StoredPoint
from assay.stats.compare_sets import Difference
from assay.stores.selection import parse_selection, select
from assay.web.charts.kinds import Ratio, ratios_chart
from assay.web.page import Cell, Choice, Form, Grid, Page, Section, heat_cell, table_section
from assay.web.pages import PageRoute
from assay.web.pages.overview import read_numbers

MAX_RATIOS = 60  # ratios in one chart
MAX_RESULTS = 100  # results that are opened for one page; of more, the index tells
MIN_FILLED = 0.4  # of a map: with less it is not drawn
MAX_TEXT = 90  # characters of a choice
MAX_CHOICES = 30  # newest runs and labels to choose from
PAGES = (PageRoute("/compare", lambda store, query, _: compare_page(store, query), "Compare", 5),)


def compare_page(store: Store, params: dict[str, str]) -> Page:
    """Stored results only: the dashboard must not read files of this machine."""
    baseline, candidate = params.get("a", ""), params.get("b", "")
    if not (baseline and candidate):
        return _page(store, params, "Choose two runs, labels, tags, commits or days.")
    try:
        comparison = _compare(store, (baseline, candidate), params)
    except UsageError as error:
        return _page(store, params, f"{error} {error.hint}")
    return _page(store, params, _lead(comparison), comparison)


def _compare(store: Store, names: tuple[str, str], params: dict[str, str]) -> Differences:
    """As `assay compare`; from the index if that would open too many results."""
    how = CompareOptions(metric=params.get("metric", ""), by=params.get("by", ""))
    baseline, candidate = (parse_selection(store, name) for name in names)
    if store.count(baseline) + store.count(candidate) > MAX_RESULTS:
        return compare_points(store, (baseline, candidate), names, how)
    return compare_results(select(store, names[0]), select(store, names[1]), names, how)


def _page(
    store: Store, params: dict[str, str], lead: str, comparison: Differences | None = None
) -> Page:
    sides = [params.get(side) or side.upper() for side in ("a", "b")]
    return Page(
        title="Compare",
        lead=lead,
        command=f"assay compare {' '.join(map(shlex.quote, sides))}",
        document=comparison or {"schema": SCHEMA, "kind": "differences", "error": lead},
        sections=tuple(_sections(comparison)) if comparison else (),
        form=Form(action="/compare", fields=_fields(store, params)),
    )


def _fields(store: Store, params: dict[str, str]) -> tuple[Choice, ...]:
    lines = list_runs(store, Query(limit=2_000), MAX_CHOICES, numbers=read_numbers)[0][::-1]
    labels = dict.fromkeys(f"label:{line.label}" for line in lines if line.label)
    known = {label: label for label in labels} | {line.run: _choice_text(line) for line in lines}
    return (
        *(_side(name, text, params.get(name, ""), known) for name, text in _SIDES.items()),
        Choice(
            name="metric", label="metric (empty: the usual one)", value=params.get("metric", "")
        ),
        Choice(name="by", label="means by, such as backend", value=params.get("by", "")),
    )


_SIDES = {"a": "baseline", "b": "candidate"}


def _choice_text(line: RunLine) -> str:
    """`11-12 03:00 run: step time 10.0 ms (mnist-mlp@jax)`."""
    when = line.started[5:16].replace("T", " ")
    text = f"{when} {line.verb}: {line.headline} ({line.request})"
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def _side(name: str, label: str, value: str, known: Mapping[str, str]) -> Choice:
    """A list of what is new, with what the address asks for in it."""
    choices = {"": "", value: value, **known}
    return Choice(name=name, label=label, value=value, choices=tuple(choices.items()))


def _lead(comparison: Differences) -> str:
    overall = next((mean for mean in comparison.means if not mean.group), None)
    if overall is None:
        shown = {difference.key for difference in comparison.differences}
        return (
            f"{comparison.candidate} beside {comparison.baseline}: {', '.join(sorted(shown)[:3])}."
        )
    return (
        f"{comparison.candidate} over {comparison.baseline}: {overall.ratio.value:.3f} by the "
        f"geometric mean of {overall.ratio.n} cases: {overall.verdict}."
    )


def _sections(comparison: Differences) -> list[Section]:
    shown = [
        difference
        for difference in comparison.differences
        if difference.verdict != "not-comparable"
    ]
    rows = [Ratio(name=o.key, value=o.ratio, low=o.low, high=o.high) for o in shown[:MAX_RATIOS]]
    heat = _heat(shown)
    return [
        Section(
            title="Ratios", chart=ratios_chart("candidate over baseline", rows, comparison.minimum)
        ),
        *(
            [table_section(view.means_table(comparison.means), "Geometric means")]
            if comparison.means
            else []
        ),
        *([Section(title="Workload by backend", grid=heat)] if heat else []),
        table_section(view.cases_table(comparison), "Cases"),
    ]


def _heat(shown: Sequence[Difference]) -> Grid | None:
    """A cell for each workload on each backend; nothing where one of them hardly varies."""
    cells = {tuple(difference.key.rpartition("@")[::2]): difference.ratio for difference in shown}
    rows, columns = (list(dict.fromkeys(key[index] for key in cells)) for index in (0, 1))
    if min(len(rows), len(columns)) < 2 or len(cells) < MIN_FILLED * len(rows) * len(columns):
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
    "from the index: each result counts as one process, and packages and hosts are not compared; "
    "assay compare opens every result"
)


def compare_points(
    store: Store, queries: tuple[Query, Query], names: tuple[str, str], how: CompareOptions
) -> Differences:
    """As `compare`, but no result is opened: a point of a series stands for each."""
    from assay.stats import compare_sets

    baseline, candidate = (_load_points(store, query, how.metric) for query in queries)
    if not (baseline and candidate):
        raise _no_common_metric(names, how.metric)
    check_names(how, {id(point.series): point.series for point in (*baseline, *candidate)}.values())
    before, after = (_group_by_case(side, how.across) for side in (baseline, candidate))
    pairs, notes = match_cases(before, after, names)
    differences = [
        point for key, sides in pairs.items() for point in _differences(key, *sides, how)
    ]
    if not differences:
        raise _no_common_metric(names, how.metric)
    return Differences(
        baseline=names[0],
        candidate=names[1],
        differences=tuple(differences),
        means=tuple(compare_sets.means(differences, how.minimum)),
        notes=(*notes, NOTE),
        minimum=how.minimum,
    )


def _no_common_metric(names: tuple[str, str], metric: str) -> UsageError:
    return UsageError(
        f"{names[0]} and {names[1]} have no metric in common"
        + (f" named '{metric}'." if metric else "."),
        hint="assay show last/001 shows the metrics of a result.",
    )


def _load_points(store: Store, query: Query, metric: str) -> list[StoredPoint]:
    """Of the metric that was asked for; else of the usual ones, if every result has one of them."""
    if metric:
        return store.points_of(query, () if metric == ALL_METRICS else (metric,))
    from assay.stats.compare_sets import MAIN

    points = store.points_of(query, MAIN)
    count = store.count(msgspec.structs.replace(query, status="ok"))
    return points if len({point.point.id for point in points}) == count else store.points_of(query)


def _group_by_case(points: Iterable[StoredPoint], across: str) -> ResultsByCase[StoredPoint]:
    cases: ResultsByCase[StoredPoint] = {}
    for point in points:
        cases.setdefault(case_key(point.series, across), []).append(point)
    return cases


def _differences(
    key: str, first: Sequence[StoredPoint], second: Sequence[StoredPoint], how: CompareOptions
) -> list[Difference]:
    from assay.commands.compare import comparable
    from assay.stats import compare_sets

    before, after = _group_by_metric(first), _group_by_metric(second)
    mismatches = comparable.point_mismatches(first[0], second[0])
    refused = [
        words for words in mismatches.refused if how.across not in words.split(":")[0].split()
    ]
    differences = []
    for metric in _select_metrics([name for name in before if name in after], how.metric):
        first_side, second_side = (
            compare_sets.points_side(before[metric]),
            compare_sets.points_side(after[metric]),
        )
        units = (
            [f"unit: {first_side.unit} → {second_side.unit}"]
            if first_side.unit != second_side.unit
            else []
        )
        not_same = [*(refused if not how.anyway else []), *units]
        difference = compare_sets.difference(key, metric, first_side, second_side, how.minimum)
        differences.append(
            msgspec.structs.replace(
                difference,
                verdict="not-comparable" if not_same else difference.verdict,
                group=group_name(first[0].series, how.by),
                notes=(*not_same, *mismatches.noted),
            )
        )
    return differences


def _group_by_metric(points: Iterable[StoredPoint]) -> ResultsByCase[StoredPoint]:
    groups: ResultsByCase[StoredPoint] = {}
    for point in points:
        groups.setdefault(point.metric, []).append(point)
    return groups


def _select_metrics(shared: Sequence[str], metric: str) -> Sequence[str]:
    if metric == ALL_METRICS:
        return shared
    usual = next((name for name in METRICS if name in shared), min(shared, default=""))
    return [name for name in (metric or usual,) if name in shared]
