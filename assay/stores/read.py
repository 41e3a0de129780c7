"""Read stored results with their summaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import NamedTuple

import msgspec

from assay.core.contracts import Store
from assay.core.findings import SummarizedResult
from assay.core.options import StoreUrl, accept_old_keywords
from assay.core.records import Query, Result
from assay.core.registry import open_store
from assay.stats import stored_summary
from assay.stores.runs import how_to_resume, verb_of


class StoredResults(NamedTuple):
    """Results with summaries, and the number of older ones."""

    readings: list[SummarizedResult]
    more: int


@accept_old_keywords(home="store")
def read_results(
    query: Query = Query(),  # noqa: B008 (frozen)
    store: StoreUrl = None,
    say: Callable[[str], None] | None = None,
) -> list[SummarizedResult]:
    """Stored results with summaries, oldest first; `say` gets messages about unreadable ones."""
    return read_newest(query, query.limit, store, say).readings


def read_newest(
    query: Query, limit: int, store: StoreUrl = None, say: Callable[[str], None] | None = None
) -> StoredResults:
    """The newest results of a query, oldest first; limit 0: all."""
    with closing(open_store(store)) as opened:
        shown = summarize_results(opened, msgspec.structs.replace(query, limit=limit))
        more = max(0, opened.count(query) - limit) if limit else 0
        for problem in dict.fromkeys(opened.problems):
            if say:
                say(problem)
    return StoredResults(shown, more)


def summarize_results(store: Store, query: Query) -> list[SummarizedResult]:
    """The results of a query with summaries, oldest first; `store.problems` has the unreadable."""
    results = drop_superseded(store.results(query))
    return [reading for reading in (_read(store, result) for result in results) if reading]


def _read(store: Store, result: Result) -> SummarizedResult | None:
    """A result with its summary; None and a problem if it cannot be summarized."""
    try:
        return stored_summary.read(store, result)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        store.problems.append(
            f"{result.id} has values that cannot be summarized "
            f"({type(error).__name__}: {error}). assay results remove {result.id} removes it."
        )
        return None


def verb_of_run(run: str, store: StoreUrl = None) -> str:
    """The command of a run."""
    with closing(open_store(store)) as opened:
        return verb_of(opened, opened.find_run(run))


def resume_hint(run: str, store: StoreUrl = None) -> str:
    """How to resume a run without results."""
    with closing(open_store(store)) as opened:
        return how_to_resume(opened, opened.find_run(run))


def drop_superseded(results: Iterable[Result]) -> list[Result]:
    """Drop interrupted results of cases that were measured later in the same run."""
    all_results = list(results)
    last = {(result.run, result.case.key): result.id for result in all_results}
    return [
        result
        for result in all_results
        if result.status != "interrupted" or last[(result.run, result.case.key)] == result.id
    ]
