"""Compare two sets of results: ratios with intervals, geometric means, verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeVar

import msgspec

from assay.core.errors import UsageError, unknown_name_error
from assay.core.options import Argument, Flag, Share, StoreUrl, accept_old_keywords
from assay.core.records import SCHEMA, Case, Result
from assay.core.registry import open_store
from assay.core.series import SeriesKey
from assay.core.settings import Home
from assay.core.units import as_share
from assay.measure.import_file import read_file
from assay.stats.compare_sets import Difference, GroupMean
from assay.stores.selection import select

ALL_METRICS = "all"  # as metric: all that both sides have
T = TypeVar("T")
ResultsByCase = dict[str, list[T]]  # what is the same on both sides → its results


class CompareOptions(NamedTuple):
    """How two sets are compared."""

    metric: str = ""
    by: str = ""
    across: str = ""
    minimum: float = 0.01
    anyway: bool = False


@accept_old_keywords(home="store", minimum="min_effect")
def compare(
    baseline: Annotated[str | Path, Argument(complete="runs")],
    candidate: Annotated[str | Path, Argument(complete="runs")],
    metric: Annotated[str, Flag("Metric to compare, or `all`; default: step or wall time.")] = "",
    by: Annotated[str, Flag("Give a mean for each backend, workload, …", "NAME")] = "",
    across: Annotated[str, Flag("Match cases that differ in backend, workload, …", "NAME")] = "",
    min_effect: Annotated[Share, Flag("Smallest difference that counts as a change.")] = "1%",
    anyway: Annotated[bool, Flag("Compare even if the work differs.")] = False,
    store: StoreUrl = None,
) -> Differences:
    """Compare stored results or files of other tools: the ratio is candidate over baseline.

    Each is a run, a result, a label, a tag, a commit, a day or a file. `by` groups the geometric
    means, and `across` is ignored when cases are matched: both take `backend`, `workload`,
    or a parameter or option. Different work is not compared unless `anyway`.

    >>> comparison = assay.compare("before", "after", by="backend")
    >>> [(case.key, case.ratio, case.verdict) for case in comparison.differences]
    """
    how = CompareOptions(
        metric, by, across, as_share(min_effect, "The smallest effect", "1%"), anyway
    )
    first, second = (_results(str(text), store) for text in (baseline, candidate))
    return compare_results(first, second, (_short(baseline), _short(candidate)), how)


def compare_results(
    baseline: Sequence[Result],
    candidate: Sequence[Result],
    names: tuple[str, str],
    how: CompareOptions = CompareOptions(),  # noqa: B008 (immutable)
) -> Differences:
    """As `compare`, for results in memory."""
    from assay.stats import compare_sets

    check_names(how, [result.case for result in (*baseline, *candidate)])
    before, after = _cases(baseline, how.across), _cases(candidate, how.across)
    pairs, notes = match_cases(before, after, names)
    differences = [
        difference
        for key, (first, second) in pairs.items()
        for difference in _differences(key, first, second, how)
    ]
    if not differences:
        metrics = compare_sets.metrics([*baseline, *candidate])
        raise UsageError(
            f"{names[0]} and {names[1]} have no metric in common"
            + (f" named '{how.metric}'." if how.metric else "."),
            hint=f"They have: {', '.join(metrics) or 'no values'}.",
        )
    return Differences(
        baseline=names[0],
        candidate=names[1],
        differences=tuple(differences),
        means=tuple(compare_sets.means(differences, how.minimum)),
        notes=tuple(notes),
        minimum=how.minimum,
    )


def _short(text: str | Path) -> str:
    return Path(text).name if Path(text).is_file() else str(text)


def _results(text: str, home: Home) -> list[Result]:
    if Path(text).is_file():
        return read_file(Path(text)).results
    with closing(open_store(home)) as store:
        return select(store, text)


def check_names(how: CompareOptions, cases: Iterable[Case | SeriesKey]) -> None:
    known = {"backend", "workload"}
    known |= {name for case in cases for name in (*case.params, *case.options)}
    for name in (how.by, how.across):
        if name and name not in known:
            raise unknown_name_error("parameter or option", name, known)


def _cases(results: Iterable[Result], across: str) -> ResultsByCase[Result]:
    cases: ResultsByCase[Result] = {}
    for result in results:
        cases.setdefault(case_key(result.case, across), []).append(result)
    return cases


def case_key(case: Case | SeriesKey, across: str) -> str:
    """The key by which cases are matched: the case key, or all parts but `across`."""
    if not across:
        return case.key
    parts = {"workload": case.workload, "backend": case.backend, **case.params}
    if across != "backend":
        parts |= case.options
    return ", ".join(
        f"{n}={v}" if n in case.params else str(v)
        for n, v in parts.items()
        if n != across and v != ""
    )


def match_cases(
    before: ResultsByCase[T], after: ResultsByCase[T], names: tuple[str, str]
) -> tuple[dict[str, tuple[list[T], list[T]]], list[str]]:
    """Cases on both sides; a single case per side matches whatever its name."""
    shared = [key for key in before if key in after]
    if not shared and len(before) == len(after) == 1:
        (first,), (second,) = before, after
        return {f"{first} → {second}": (before[first], after[second])}, []
    if not shared:
        raise UsageError(
            f"{names[0]} and {names[1]} have no case in common.",
            hint=f"One has {_some(before)}; the other {_some(after)}. Try --across backend.",
        )
    notes = [
        f"only in {name}: {_some(left)}"
        for name, mine, second in ((names[0], before, after), (names[1], after, before))
        if (left := [key for key in mine if key not in second])
    ]
    return {key: (before[key], after[key]) for key in shared}, notes


def _some(keys: Iterable[str]) -> str:
    names = list(keys)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _differences(
    key: str, first: Sequence[Result], second: Sequence[Result], how: CompareOptions
) -> list[Difference]:
    from assay.commands.compare import comparable
    from assay.stats import compare_sets

    shared = [name for name in compare_sets.metrics(first) if name in compare_sets.metrics(second)]
    metrics = (
        shared if how.metric == ALL_METRICS else [how.metric or compare_sets.main_metric(first)]
    )
    mismatches = comparable.mismatches(first[0], second[0])
    refused = [
        words for words in mismatches.refused if how.across not in words.split(":")[0].split()
    ]
    differences = []
    for metric in metrics:
        before, after = compare_sets.side(first, metric), compare_sets.side(second, metric)
        if before is None or after is None:
            continue
        units = [f"unit: {before.unit} → {after.unit}"] if before.unit != after.unit else []
        difference = compare_sets.difference(key, metric, before, after, how.minimum)
        not_same = (refused if not how.anyway else []) + units
        differences.append(
            msgspec.structs.replace(
                difference,
                verdict="not-comparable" if not_same else difference.verdict,
                group=group_name(first[0].case, how.by),
                notes=(*not_same, *(mismatches.refused if how.anyway else ()), *mismatches.noted),
            )
        )
    return differences


def group_name(case: Case | SeriesKey, by: str) -> str:
    parts = {"workload": case.workload, "backend": case.backend, **case.options, **case.params}
    return f"{by} {parts.get(by, '?')}" if by else ""


class Differences(msgspec.Struct, frozen=True, kw_only=True):
    """Two sets of results, case by case and together; ratios are candidate over baseline."""

    baseline: str
    candidate: str
    differences: tuple[Difference, ...]
    means: tuple[GroupMean, ...] = ()
    notes: tuple[str, ...] = ()
    minimum: float = 0.01  # smaller changes do not count
    schema: int = SCHEMA
    kind: Literal["differences"] = "differences"
