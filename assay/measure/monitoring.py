"""Monitors kept on one worker: when each looks, the series in a file, the peaks at the end."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.core import registry
from assay.core.contracts import Monitor
from assay.monitors.sources.proc import Tree, line_value
from assay.monitors.sources.series import Series

QUICK = 0.1  # seconds; a monitor with a longer period only looks along with a quick one
SHARES = {True: 0.0008, False: 0.0001}  # of a core, for a quick and for another monitor, at most
FIRST = 0.01  # seconds; the first looks come closer together, to see what ends at once
BATCH = 64  # looks kept before they are written: in one go they cost far less, caches being warm
BEGUN = 1 << 18  # bytes; a process that is seen with less had not been loaded yet
SERIES = "process_info.log"  # PerfZero's name; its fields come first in each line


class Monitoring:
    """Looks when it is told to, on the caller's thread, so that nothing runs beside the worker."""

    def __init__(
        self,
        pid: int,
        folder: Path,
        monitors: list[Monitor] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        found = usable_monitors() if monitors is None else monitors
        self._clock, self._born = clock, clock()
        self._tree = Tree(pid)
        self._scan = _Schedule(self._born, 1.0)
        self._watched = [(monitor, _Schedule(self._born, monitor.period)) for monitor in found]
        self._quick = [schedule for _, schedule in self._watched if schedule.quick]
        self._due = self._born
        self._floor = _own_high_water()
        self._looks: list[tuple[float, float, Mapping[str, float]]] = []
        self._series = Series(folder / SERIES)
        self._cost = 0.0

    def look(self, everything: bool = False) -> float:
        """Ask the monitors that are due; the seconds until one is due again."""
        now = self._clock()
        if now < self._due and not everything:
            return self._due - now
        start = before = time.thread_time()
        if everything or now >= self._scan.due:
            self._tree.refresh()
            after = time.thread_time()
            self._scan.looked(now, after - before)
            before = after
        for monitor, schedule in self._watched:
            if everything or now >= schedule.due:
                found = monitor.sample(self._tree.pids)
                after = time.thread_time()
                self._looks.append((now - self._born, schedule.looked(now, after - before), found))
                before = after
        if len(self._looks) >= BATCH:
            self._settle()
            before = time.thread_time()
        self._due = min([s.due for s in self._quick], default=now + 1)
        self._cost += before - start
        return max(0.0, self._due - now)

    def end(self, usage: resource.struct_rusage | None) -> dict[str, float]:
        """What a result keeps; `usage` is what wait4 said of the worker and all it waited for."""
        lived = self._clock() - self._born
        self._settle()
        found: dict[str, float] = {}
        for monitor, _ in self._watched:
            found |= self._series.peaks(monitor.peaks)
            monitor.close()
        self._series.close()
        found |= _true_peaks(found, usage, self._floor)
        found["monitor_cost"] = self._cost / lived if lived > 0 else 0.0
        return found

    def _settle(self) -> None:
        for seconds, passed, found in self._looks:
            self._series.add(seconds, passed, found)
        self._looks = []


def usable_monitors() -> list[Monitor]:
    """A fresh one of each that works here."""
    made = [registry.monitor(name)() for name in registry.names("monitors")]
    for monitor in made:
        if monitor.missing():
            monitor.close()
    return [monitor for monitor in made if not monitor.missing()]


def peak_names() -> list[str]:
    """What `end` may give here."""
    found = {"cpu_seconds", "monitor_cost"}
    for monitor in usable_monitors():
        found |= monitor.peaks.keys()
        monitor.close()
    if found & {"cpu_energy_joules", "gpu_energy_joules"}:
        found.add("energy_joules")
    return sorted(found - {"high_water"})


class _Schedule:
    """When one thing is to be looked at again, so that its looks never cost more than a share."""

    __slots__ = ("_last", "_period", "_share", "_soon", "due", "quick")

    def __init__(self, born: float, period: float) -> None:
        self.quick = period <= QUICK
        self.due = born if self.quick else born + period
        self._last, self._period = born, period
        self._soon = FIRST if self.quick else period
        self._share = SHARES[self.quick]

    def looked(self, now: float, cost: float) -> float:
        """Plan the next look; the seconds since the last one."""
        passed, self._last = now - self._last, now
        self.due = now + max(self._soon, cost / self._share)
        if self._soon < self._period:
            self._soon = min(self._period, 2 * self._soon)
        return passed


def _true_peaks(
    found: dict[str, float], usage: resource.struct_rusage | None, floor: int
) -> dict[str, float]:
    """The kernel's own marks, which no look can miss, joined to what was seen."""
    true: dict[str, float] = {}
    marks = [found.pop("high_water", 0.0), found.get("max_rss", 0.0)]
    if usage:
        # A process starts with the mark of the one it was forked from, so a lower one is hidden.
        marks += [1024.0 * usage.ru_maxrss] if 1024 * usage.ru_maxrss > floor else []
        true["cpu_seconds"] = usage.ru_utime + usage.ru_stime
        if max(marks) < BEGUN:  # over before any look: what the kernel says is no less, at least
            marks.append(1024.0 * usage.ru_maxrss)
    if max(marks) > 0:
        true["max_rss"] = max(marks)
    energies = [found[name] for name in ("cpu_energy_joules", "gpu_energy_joules") if name in found]
    return true | ({"energy_joules": sum(energies)} if energies else {})


def _own_high_water() -> int:
    try:
        text = Path("/proc/self/status").read_bytes()
    except OSError:
        return 0
    return 1024 * (line_value(text, b"VmHWM:") or 0)
