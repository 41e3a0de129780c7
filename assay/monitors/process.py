"""Resident and virtual memory and CPU use of a whole process tree."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from assay.contracts import Peak
from assay.monitors._files import FilePerProcess

_PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessMonitor:
    """Sums over the tree. Pages that two processes share count twice in `rss`; see `pss`."""

    period = 0.1
    peaks: Mapping[str, Peak] = {
        "max_rss": ("rss", "max"),
        "max_vms": ("vms", "max"),
        "max_cpu_percent": ("cpu_percent", "max"),
        "mean_cpu_percent": ("cpu_percent", "mean"),
    }

    def __init__(self, proc: str = "/proc", clock: Callable[[], float] = time.monotonic) -> None:
        self._files = FilePerProcess(lambda pid: f"{proc}/{pid}/statm")
        self._clock = clock
        self._last: float | None = None
        self._used: dict[int, float] = {}

    def missing(self) -> str:
        return "" if os.path.exists("/proc/self/statm") else "this system has no /proc"

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        """Empty when the whole tree is gone."""
        virtual = resident = 0
        alive: dict[int, float] = {}
        for pid in pids:
            pages = self._files.read(pid).split(maxsplit=2)
            if len(pages) < 2:
                self._files.forget(pid)
                continue
            virtual += int(pages[0])
            resident += int(pages[1])
            alive[pid] = cpu_seconds(pid)
        if not alive:
            return {}
        return {"rss": resident * _PAGE, "vms": virtual * _PAGE, "cpu_percent": self._cpu(alive)}

    def close(self) -> None:
        self._files.close()

    def _cpu(self, alive: dict[int, float]) -> float:
        """100 for each core kept busy since the last look; without time between, 0."""
        now = self._clock()
        passed, self._last = now - (now if self._last is None else self._last), now
        spent = sum(max(0.0, used - self._used.get(pid, 0.0)) for pid, used in alive.items())
        self._used = alive
        return round(100 * spent / passed, 2) if passed > 0 else 0.0


def cpu_seconds(pid: int) -> float:
    """CPU time of all threads of a process, to the nanosecond; 0 where it is gone.

    The clock of another process has the number (~pid << 3) | 2 (CPUCLOCK_SCHED in the kernel's
    posix-timers). /proc/PID/stat counts hundredths of a second: too coarse for ten looks a second.
    """
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


PROVIDES = {"process": ProcessMonitor}
