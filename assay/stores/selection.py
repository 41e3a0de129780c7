"""Select results by a run, result, label, tag, commit or day."""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.core.contracts import Store
from assay.core.errors import AssayError, UsageError
from assay.core.records import Query, Result

_DAY = re.compile(r"\d{4}-\d{2}(-\d{2}(T[\d:.+-]*)?)?")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
KINDS = "a run, RUN/001, `last`, a label, NAME=VALUE of a tag, a commit or a day"


def select(store: Store, text: str) -> list[Result]:
    """Select results; a prefix `label:`, `tag:`, `commit:`, `day:` or `run:` names the kind."""
    query = parse_selection(store, text)
    results = [result for result in store.results(query) if result.status != "interrupted"]
    if not results:
        raise UsageError(f"'{text}' has no result that ended and can be read.", hint=_HINT)
    return results


def parse_selection(store: Store, text: str) -> Query:
    """Parse a selection to a query with results, without opening them."""
    kind, colon, rest = text.partition(":")
    if colon and kind in _QUERIES:
        query = _QUERIES[kind](store, rest)
        if query is None or not store.count(query):
            raise UsageError(f"No result has the {kind} '{rest}'.", hint=_HINT)
        return query
    queries = {kind: query for kind, make in _QUERIES.items() if (query := make(store, text))}
    fitting = {kind: query for kind, query in queries.items() if store.count(query)}
    if len(fitting) > 1:
        raise UsageError(
            f"'{text}' could be {' or '.join(f'a {kind}' for kind in fitting)}.",
            hint=f"Choose one: {next(iter(fitting))}:{text}",
        )
    if not fitting:
        raise UsageError(f"'{text}' means no result here: it has to be {KINDS}.", hint=_HINT)
    return next(iter(fitting.values()))


_HINT = "assay list results shows what there is; a file of another tool can be given too."


def _by_run(store: Store, text: str) -> Query | None:
    try:
        store.find(text)
    except AssayError:
        return None
    return Query(ids=(text,))


def _by_label(store: Store, text: str) -> Query | None:
    return Query(label=text) if text else None


def _by_tag(store: Store, text: str) -> Query | None:
    name, equals, value = text.partition("=")
    return Query(tags={name: value}) if name and equals else None


def _by_commit(store: Store, text: str) -> Query | None:
    return Query(commit=text) if _COMMIT.fullmatch(text) else None


def _by_day(store: Store, text: str) -> Query | None:
    return Query(since=text, until=text) if _DAY.fullmatch(text) else None


_QUERIES: dict[str, Callable[[Store, str], Query | None]] = {
    "run": _by_run,
    "label": _by_label,
    "tag": _by_tag,
    "commit": _by_commit,
    "day": _by_day,
}
