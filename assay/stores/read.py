"""Kept results again, with what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from typing import NamedTuple

import msgspec

from assay.core.contracts import Store
from assay.core.findings import Reading
from assay.core.records import Query, Result
from assay.core.registry import open_store
from assay.core.settings import Home
from assay.stats import stored_summary
from assay.stores.runs import how_to_resume, verb_of


class Kept(NamedTuple):
    """Readings, and how many older ones were left out."""

    readings: list[Reading]
    more: int


def readings(
    query: Query = Query(),  # noqa: B008 (frozen)
    home: Home = None,
    say: Callable[[str], None] | None = None,
) -> list[Reading]:
    """Kept results with their summaries, oldest first; what cannot be read is said."""
    return newest(query, query.limit, home, say).readings


def newest(
    query: Query, limit: int, home: Home = None, say: Callable[[str], None] | None = None
) -> Kept:
    """The newest so many of what a query finds, oldest first; 0: all."""
    with closing(open_store(home)) as store:
        found = lasting(store.results(msgspec.structs.replace(query, limit=limit)))
        more = max(0, store.count(query) - limit) if limit else 0
        kept = [one for one in (_read(store, result) for result in found) if one]
        for problem in dict.fromkeys(store.problems):
            if say:
                say(problem)
    return Kept(kept, more)


def _read(store: Store, result: Result) -> Reading | None:
    """None, and a problem, for values that no analysis can be made of: others are shown."""
    try:
        return stored_summary.read(store, result)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        store.problems.append(
            f"{result.id} holds values that cannot be summarized "
            f"({type(error).__name__}: {error}). assay results remove {result.id} removes it."
        )
        return None


def made_by(run: str, home: Home = None) -> str:
    """The verb that made a run."""
    with closing(open_store(home)) as store:
        return verb_of(store, store.find_run(run))


def resume_hint(run: str, home: Home = None) -> str:
    """How to go on with a run that has no result yet."""
    with closing(open_store(home)) as store:
        return how_to_resume(store, store.find_run(run))


def lasting(results: Iterable[Result]) -> list[Result]:
    """Without interrupted results whose case was measured later in the same run."""
    found = list(results)
    last = {(result.run, result.case.key): result.id for result in found}
    return [
        result
        for result in found
        if result.status != "interrupted" or last[(result.run, result.case.key)] == result.id
    ]
