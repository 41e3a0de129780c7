"""A word of the user's → the results it means: a run, result, label, tag, commit or day."""

from __future__ import annotations

import re
from collections.abc import Callable

from assay.core.contracts import Store
from assay.core.errors import AssayError, UsageError
from assay.core.records import Query, Result

_DAY = re.compile(r"\d{4}-\d{2}(-\d{2}(T[\d:.+-]*)?)?")
_COMMIT = re.compile(r"[0-9a-f]{7,40}")
KINDS = "a run, RUN/NNN, `last`, a label, NAME=VALUE of a tag, a commit or a day"


def select(store: Store, text: str) -> list[Result]:
    """The results; `label:`, `tag:`, `commit:`, `day:` or `run:` in front says what it is."""
    kind, colon, rest = text.partition(":")
    if colon and kind in _FINDERS:
        found = _FINDERS[kind](store, rest)
        if not found:
            raise UsageError(f"No result has the {kind} '{rest}'.", hint=_HINT)
        return found
    fitting = {kind: results for kind, find in _FINDERS.items() if (results := find(store, text))}
    if len(fitting) > 1:
        raise UsageError(
            f"'{text}' could be {' or '.join(f'a {kind}' for kind in fitting)}.",
            hint=f"Say which: {next(iter(fitting))}:{text}",
        )
    if not fitting:
        raise UsageError(f"'{text}' means no result here: it has to be {KINDS}.", hint=_HINT)
    return next(iter(fitting.values()))


_HINT = "assay list results shows what there is; a file of another tool can be given too."


def _by_run(store: Store, text: str) -> list[Result]:
    try:
        store.find(text)
    except AssayError:
        return []
    return _lasting(store, Query(ids=(text,)))


def _by_label(store: Store, text: str) -> list[Result]:
    return _lasting(store, Query(label=text)) if text else []


def _by_tag(store: Store, text: str) -> list[Result]:
    name, equals, value = text.partition("=")
    return _lasting(store, Query(tags={name: value})) if name and equals else []


def _by_commit(store: Store, text: str) -> list[Result]:
    """No index has it: every result is looked into."""
    if not _COMMIT.fullmatch(text):
        return []
    return [
        result
        for result in _lasting(store, Query())
        if str(result.environment.git.get("commit", "")).startswith(text)
    ]


def _by_day(store: Store, text: str) -> list[Result]:
    return _lasting(store, Query(since=text, until=text)) if _DAY.fullmatch(text) else []


def _lasting(store: Store, query: Query) -> list[Result]:
    return [result for result in store.results(query) if result.status != "interrupted"]


_FINDERS: dict[str, Callable[[Store, str], list[Result]]] = {
    "run": _by_run,
    "label": _by_label,
    "tag": _by_tag,
    "commit": _by_commit,
    "day": _by_day,
}
