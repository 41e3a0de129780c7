"""Recent changes in the series of a store, cached until a series has a new point."""

from __future__ import annotations

import threading
import time
from contextlib import closing

import msgspec

from assay.commands.check.api import read_report
from assay.commands.check.report import CheckReport
from assay.commands.history.api import match_series
from assay.core.contracts import Store
from assay.core.errors import UsageError
from assay.core.records import Query
from assay.core.registry import open_store
from assay.core.series import StoredSeries
from assay.core.settings import Home
from assay.core.units import percent_change
from assay.stats.gate import Threshold
from assay.web.page import Cell

MAX_POINTS = 100  # newest points of a series that are looked at: four times quicker than 200
MAX_CHECKED = 300  # series that a page checks; each takes some milliseconds
MAX_AGE = 30  # a shift further back than so many points is no news
PAUSE = 0.03  # seconds between looks behind a page: pages come first
MAX_ANALYSED = (
    12  # series that a page looks at while its reader waits; the rest are looked at behind it
)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One series whose level changed lately."""

    series: str
    metric: str
    case: str
    machine: str
    change: float  # new over old level
    since: str
    worse: bool

    def row(self) -> tuple[Cell, ...]:
        return (
            Cell(text=self.case, to=f"/history/{self.series}/{self.metric}"),
            Cell(text=self.metric),
            Cell(
                text=percent_change(self.change, 1),
                style="bad" if self.worse else "good",
                sort=self.change,
            ),
            Cell(text=self.since[:16].replace("T", " ")),
            Cell(text=self.machine),
        )


class Findings:
    """Findings of the main metric of every series, cached until it has a new point."""

    def __init__(self, home: Home = None) -> None:
        self._home = home
        self._known: dict[tuple[str, str], tuple[str, Finding | None]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.waiting = 0  # series with new points, not looked at yet
        self._checked: tuple[object, CheckReport | None] = (None, None)

    def update(self, store: Store, most: int = MAX_ANALYSED) -> list[Finding]:
        """All findings; at most `most` series with new points are analysed."""
        every = store.series(Query())
        chosen = match_series(every, "", "") if every else []
        current = {(series.series.id, series.metric): series for series in chosen}
        fresh = [key for key, series in current.items() if self._last_point(key) != series.last]
        for key in fresh[::-1][:most]:
            self._known[key] = (current[key].last, _finding(store, current[key]))
        self.waiting = max(0, len(fresh) - most)
        findings = [f for key, (_, f) in list(self._known.items()) if f and key in current]
        newest = sorted(findings, key=lambda finding: finding.since, reverse=True)
        return sorted(newest, key=lambda finding: not finding.worse)

    def check(self, store: Store) -> CheckReport | None:
        """The gate over all series, cached until a series has a new point; None if they are too
        many for a page, or if no series can be checked."""
        every = store.series(Query())
        state = sorted((each.series.id, each.metric, each.last) for each in every)
        if state != self._checked[0]:
            self._checked = (state, _check(store, len({each.series.id for each in every})))
        return self._checked[1]

    def start_thread(self) -> None:
        """Analyse the rest in a thread, unless one is running."""
        with self._lock:
            if self.waiting and not (self._thread and self._thread.is_alive()):
                self._thread = threading.Thread(target=self._update_rest, daemon=True)
                self._thread.start()

    def _update_rest(self) -> None:
        with closing(open_store(self._home)) as store:
            while self.waiting:
                self.update(store)
                time.sleep(PAUSE)

    def _last_point(self, key: tuple[str, str]) -> str:
        return self._known.get(key, ("", None))[0]


def _check(store: Store, series: int) -> CheckReport | None:
    if series > MAX_CHECKED:
        return None
    try:
        return read_report(store)
    except UsageError:
        return None


def _finding(store: Store, series: StoredSeries) -> Finding | None:
    from assay.stats.gate import is_worse  # with numpy
    from assay.stats.trend import history

    points = store.points(series.series.id, series.metric, MAX_POINTS)
    shifts = history(points).shifts
    if not shifts or shifts[-1].place < len(points) - MAX_AGE:
        return None
    size = shifts[-1].size
    return Finding(
        series=series.series.id,
        metric=series.metric,
        case=series.series.key,
        machine=series.series.machine,
        change=size,
        since=shifts[-1].started,
        worse=is_worse(size, Threshold(metric=series.metric, share=0.0), series.unit),
    )
