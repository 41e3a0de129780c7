"""Split a series into baseline and candidate points: by label, tag, commit or date."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from assay.core.contracts import Store
from assay.core.errors import AssayError, UsageError
from assay.core.records import Query
from assay.core.series import Point
from assay.measure.git import run_git

DATE = re.compile(r"\d{4}(-\d{2}(-\d{2}(T[\d:]+)?)?)?")
KINDS = ("label", "tag", "commit", "date")
MAX_CANDIDATES = 10  # points of a candidate: older ones were checked before


class Sides(NamedTuple):
    """Points of one series, oldest first."""

    baseline: list[Point]
    candidate: list[Point]


class Baseline(NamedTuple):
    """A split that applies to every series."""

    text: str  # for the user
    sides: Callable[[Sequence[Point]], Sides]


def choose(since: str, store: Store) -> Baseline:
    """`label:NAME`, `tag:NAME=VALUE`, `commit:REF`, `date:DATE`, or one of these without its kind
    where that is clear: a date, then a commit of this repository, then a label."""
    kind, mark, text = since.partition(":")
    if mark and kind in KINDS:
        return {"label": _label, "tag": _tag, "commit": _commit, "date": _date}[kind](text, store)
    if DATE.fullmatch(since):
        return _date(since, store)
    if commit_hash_of(since):
        return _commit(since, store)
    if store.count(Query(label=since)):
        return _label(since, store)
    raise UsageError(
        f"There is no commit and no label '{since}'.",
        hint="A baseline is label:NAME, tag:NAME=VALUE, commit:REF or date:2026-11-01.",
    )


def _label(text: str, store: Store) -> Baseline:
    return _match_name(Query(label=text), f"label {text}", store)


def _tag(text: str, store: Store) -> Baseline:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"tag:{text} has no value.", hint="As in: --since tag:gpu=H200")
    return _match_name(Query(tags={name: value}), f"tag {text}", store)


def _match_name(query: Query, text: str, store: Store) -> Baseline:
    """The baseline: results of a query; the candidate: what was measured after the last of them."""
    rows = {result.id for result in store.results(query)}
    if not rows:
        raise UsageError(
            f"No result has the {text}.", hint="assay list results shows what there is."
        )

    def sides(points: Sequence[Point]) -> Sides:
        chosen = [point for point in points if point.id in rows]
        last = max((point.started for point in chosen), default="")
        return Sides(chosen, [p for p in points if chosen and p.started > last][-MAX_CANDIDATES:])

    return Baseline(text, sides)


def _date(text: str, store: Store) -> Baseline:
    def sides(points: Sequence[Point]) -> Sides:
        before = [point for point in points if point.started < text]
        return Sides(before, list(points[len(before) :])[-MAX_CANDIDATES:])

    return Baseline(f"before {text}", sides)


def _commit(text: str, store: Store) -> Baseline:
    """The baseline: points at the commit or before it; the candidate: of any other commit."""
    commit = commit_hash_of(text)
    if not commit:
        raise UsageError(
            f"There is no commit '{text}' in this repository.", hint="To see them: git log"
        )
    before = set(run_git("rev-list", commit).split())

    def sides(points: Sequence[Point]) -> Sides:
        old = [point for point in points if point.commit in before]
        last = max((point.started for point in old), default="")
        new = [p for p in points if p.commit and p.commit not in before and p.started >= last]
        return Sides(old, new[-MAX_CANDIDATES:])

    return Baseline(f"commit {text} ({commit[:10]})", sides)


def commit_hash_of(text: str) -> str:
    try:
        return run_git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{text}^{{commit}}")
    except AssayError:
        return ""
