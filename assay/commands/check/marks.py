"""Regressions that earlier checks found: open, confirmed, refuted, accepted or gone.

A mark is stored in the tags of the first result of the slower level, so it is copied and removed
with this result, in every kind of store.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple

import msgspec

from assay.commands.check.report import CheckedSeries
from assay.core import codec
from assay.core.contracts import Store
from assay.core.errors import AssayError
from assay.core.records import Query
from assay.core.redaction import safe_text
from assay.core.series import Entry, Point, StoredSeries
from assay.stats.newest import STEADY

TAG, MARKED, MARKS = "gate", "marked", "gate_marks"  # a tag to search by, and the marks
UNSETTLED = ("open", "confirmed")
State = Literal["open", "confirmed", "refuted", "accepted", "gone"]


class RegressionMark(msgspec.Struct, frozen=True, kw_only=True):
    """A regression of one metric, and what became of it."""

    state: State
    metric: str
    first: str = ""  # id of the first result of the candidate, and of the last when it was marked
    last: str = ""
    when: str = ""  # UTC, ISO 8601
    by: str = ""
    why: str = ""
    run: str = ""  # of the measurements that decided
    baseline: float  # level before
    baseline_points: int
    size: float  # level after over the level before
    low: float
    high: float
    p: float


class Marks:
    """All marks of a store."""

    def __init__(self, store: Store) -> None:
        self._marks: dict[tuple[str, str], list[RegressionMark]] = {}
        for entry in store.entries(Query(tags={TAG: MARKED})):
            for mark in _read(entry, store):
                self._marks.setdefault((entry.series, mark.metric), []).append(mark)

    def of(self, series: StoredSeries) -> Sequence[RegressionMark]:
        """Oldest first."""
        return self._marks.get((series.series.id, series.metric), ())

    def list_unsettled(self, series: str, metric: str) -> list[RegressionMark]:
        return [m for m in self._marks.get((series, metric), ()) if m.state in UNSETTLED]


class JudgedStretch(NamedTuple):
    """The points of a series that are judged: those of refuted suspects are left out, and those
    before an accepted change."""

    points: list[Point]
    accepted: RegressionMark | None = None
    open: RegressionMark | None = None
    place: int = 0  # of the first point of the open regression


def stretch(points: Sequence[Point], marks: Sequence[RegressionMark]) -> JudgedStretch:
    times = {point.id: point.started for point in points}
    known = [mark for mark in marks if mark.first in times]
    refuted = [mark for mark in known if mark.state == "refuted"]
    accepted = [mark for mark in known if mark.state == "accepted"]
    start = times[accepted[-1].first] if accepted else ""
    visible = [
        point
        for point in points
        if point.started >= start
        and not any(times[m.first] <= point.started <= times.get(m.last, "") for m in refuted)
    ]
    places = {point.id: place for place, point in enumerate(visible)}
    unsettled = [m for m in known if m.state in UNSETTLED and places.get(m.first)]
    return JudgedStretch(
        visible,
        accepted[-1] if accepted else None,
        unsettled[0] if unsettled else None,
        places[unsettled[0].first] if unsettled else 0,
    )


def is_gone(part: JudgedStretch) -> bool:
    """Whether the newest points are all nearer to the level before the open regression."""
    mark = part.open
    if mark is None:
        return False
    newest = part.points[max(part.place, len(part.points) - STEADY) :]
    middle = mark.baseline * mark.size**0.5
    return len(newest) >= STEADY and all(
        (point.value < middle) == (mark.size > 1) for point in newest
    )


def accepted_text(mark: RegressionMark | None) -> str:
    if mark is None:
        return ""
    return f" since {mark.by} accepted a change on {mark.when[:10]} ({mark.why})"


def keep_marks(
    store: Store,
    checked_series: Iterable[CheckedSeries],
    gone: Iterable[RegressionMark],
    marks: Marks,
) -> list[str]:
    """Store what a check found, and what became of earlier regressions. Returns notes on what could
    not be stored."""
    changed = [msgspec.structs.replace(mark, state="gone") for mark in gone]
    for series in checked_series:
        changed += _changes(series, marks.list_unsettled(series.series, series.metric))
    notes = []
    for mark in changed:
        try:
            _write(store, mark)
        except AssayError as error:  # of a reader without permission to write
            notes.append(f"the state of a regression ({mark.state}) is not stored: {error}")
    return sorted(set(notes))


def _changes(series: CheckedSeries, unsettled: Sequence[RegressionMark]) -> list[RegressionMark]:
    if series.outcome in {"accepted", "refuted"}:
        ended = [msgspec.structs.replace(mark, state="gone") for mark in unsettled]
        state: State = "accepted" if series.outcome == "accepted" else "refuted"
        return [*ended, make_mark(series, state)]
    if series.outcome == "confirmed":
        known = any(mark.state == "confirmed" for mark in unsettled)
        return [] if known else [make_mark(series, "confirmed")]
    if series.judgement == "regression" and not unsettled:
        return [make_mark(series, "open")]
    return []


def make_mark(series: CheckedSeries, state: State) -> RegressionMark:
    return RegressionMark(
        state=state,
        metric=series.metric,
        first=series.first_id,
        last=series.candidate_id,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        by=_user(),
        why=safe_text(series.confirmation),
        run=series.run,
        baseline=series.baseline,
        baseline_points=series.baseline_points,
        size=series.size,
        low=series.low,
        high=series.high,
        p=series.p,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        return "unknown"


def _write(store: Store, mark: RegressionMark) -> None:
    (entry,) = store.entries(Query(ids=(mark.first,)))
    others = [each for each in _read(entry, store) if each.metric != mark.metric]
    text = codec.encode([*others, mark]).decode()
    store.amend(entry.id, entry.label, {**entry.tags, TAG: MARKED, MARKS: text})


def _read(entry: Entry, store: Store) -> list[RegressionMark]:
    try:
        marks = codec.decode_part(entry.tags.get(MARKS, "[]"), list[RegressionMark])
    except codec.UNREADABLE:
        store.problems.append(f"the tag {MARKS} of {entry.id} cannot be read")
        return []
    return [msgspec.structs.replace(mark, first=entry.id) for mark in marks]
