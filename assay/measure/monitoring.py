"""Monitor one worker: schedule monitors, write their series to a file, return peaks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core import registry
from assay.core.contracts import Monitor
from assay.monitors.sources.proc import Tree, line_value
from assay.monitors.sources.series import Series

if TYPE_CHECKING:
    import resource

FAST_PERIOD = 0.1  # seconds; a monitor with a longer period only samples together with a quick one
MAX_CPU_SHARE = {True: 0.0008, False: 0.0001}  # maximum CPU share of a quick and of another monitor
FIRST_PERIOD = 0.01  # seconds; the first samples are closer together, for programs that end at once
BATCH = 64  # samples before they are written: a batch costs less, caches being warm
MIN_LOADED_BYTES = 1 << 18  # bytes; a process with less had not been loaded yet
SERIES_FILE = "process_info.log"  # PerfZero's name; its fields come first in each line


class Monitoring:
    """Samples on the caller's thread when asked, so that nothing runs besides the worker."""

    def __init__(
        self,
        pid: int,
        folder: Path,
        monitors: list[Monitor] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        usable = usable_monitors() if monitors is None else monitors
        self._clock, self._born = clock, clock()
        self._tree = Tree(pid)
        self._scan = _Schedule(self._born, 1.0)
        self._watched = [(monitor, _Schedule(self._born, monitor.period)) for monitor in usable]
        self._quick = [schedule for _, schedule in self._watched if schedule.quick]
        self._due = self._born
        self._floor = _own_peak_memory()
        self._looks: list[tuple[float, float, Mapping[str, float]]] = []
        self._series = Series(folder / SERIES_FILE)
        self._cost = 0.0

    def look(self, everything: bool = False) -> float:
        """Sample the monitors that are due; the seconds until the next is due."""
        now = self._clock()
        if now < self._due and not everything:
            return self._due - now
        start = before = time.thread_time()
        if everything or now >= self._scan.due:
            self._tree.refresh()
            after = time.thread_time()
            self._scan.plan_next(now, after - before)
            before = after
        for monitor, schedule in self._watched:
            if everything or now >= schedule.due:
                values = monitor.sample(self._tree.pids)
                after = time.thread_time()
                self._looks.append(
                    (now - self._born, schedule.plan_next(now, after - before), values)
                )
                before = after
        if len(self._looks) >= BATCH:
            self._write_samples()
            before = time.thread_time()
        self._due = min([s.due for s in self._quick], default=now + 1)
        self._cost += before - start
        return max(0.0, self._due - now)

    def end(self, usage: resource.struct_rusage | None) -> dict[str, float]:
        """Peaks for the result; `usage` is what wait4 reported of the worker and its children."""
        lived = self._clock() - self._born
        self._write_samples()
        peaks: dict[str, float] = {}
        for monitor, _ in self._watched:
            peaks |= self._series.peaks(monitor.peaks)
            monitor.close()
        self._series.close()
        peaks |= _true_peaks(peaks, usage, self._floor)
        peaks["monitor_cost"] = self._cost / lived if lived > 0 else 0.0
        return peaks

    def _write_samples(self) -> None:
        for seconds, passed, values in self._looks:
            self._series.add(seconds, passed, values)
        self._looks = []


def usable_monitors() -> list[Monitor]:
    """New instances of those that work on this machine."""
    monitors = [registry.monitor(name)() for name in registry.names("monitors")]
    for monitor in monitors:
        if monitor.missing():
            monitor.close()
    return [monitor for monitor in monitors if not monitor.missing()]


def peak_names() -> list[str]:
    """Names that `end` may return on this machine."""
    names = {"cpu_seconds", "monitor_cost"}
    for monitor in usable_monitors():
        names |= monitor.peaks.keys()
        monitor.close()
    if names & {"cpu_energy_joules", "gpu_energy_joules"}:
        names.add("energy_joules")
    return sorted(names - {"high_water"})


class _Schedule:
    """When to sample next, so that sampling never costs more than a share of a core."""

    __slots__ = ("_last", "_period", "_share", "_soon", "due", "quick")

    def __init__(self, born: float, period: float) -> None:
        self.quick = period <= FAST_PERIOD
        self.due = born if self.quick else born + period
        self._last, self._period = born, period
        self._soon = FIRST_PERIOD if self.quick else period
        self._share = MAX_CPU_SHARE[self.quick]

    def plan_next(self, now: float, cost: float) -> float:
        """Schedule the next sample; the seconds since the last one."""
        passed, self._last = now - self._last, now
        self.due = now + max(self._soon, cost / self._share)
        if self._soon < self._period:
            self._soon = min(self._period, 2 * self._soon)
        return passed


def _true_peaks(
    peaks: dict[str, float], usage: resource.struct_rusage | None, floor: int
) -> dict[str, float]:
    """Peaks of the kernel, which sampling cannot miss, merged with those sampled."""
    true: dict[str, float] = {}
    marks = [peaks.pop("high_water", 0.0), peaks.get("max_rss", 0.0)]
    if usage:
        # A process inherits the peak of the one it was forked from, which hides a lower one.
        marks += [1024.0 * usage.ru_maxrss] if 1024 * usage.ru_maxrss > floor else []
        true["cpu_seconds"] = usage.ru_utime + usage.ru_stime
        if (
            max(marks) < MIN_LOADED_BYTES
        ):  # it ended before any sample: the kernel's value is an upper bound
            marks.append(1024.0 * usage.ru_maxrss)
    if max(marks) > 0:
        true["max_rss"] = max(marks)
    energies = [peaks[name] for name in ("cpu_energy_joules", "gpu_energy_joules") if name in peaks]
    return true | ({"energy_joules": sum(energies)} if energies else {})


def _own_peak_memory() -> int:
    try:
        text = Path("/proc/self/status").read_bytes()
    except OSError:
        return 0
    return 1024 * (line_value(text, b"VmHWM:") or 0)
