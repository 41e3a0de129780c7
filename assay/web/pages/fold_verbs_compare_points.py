"""Two selections of a store side by side from its index alone: thousands of cases at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from assay.commands.compare.api import (
    ALL,
    Cases,
    Comparing,
    case_key,
    check_names,
    group_of,
    matched,
)
from assay.commands.history.api import METRICS
from assay.core.contracts import Store
from assay.core.differences import Difference, Differences
from assay.core.errors import UsageError
from assay.core.records import Query
from assay.core.series import KeptPoint

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
