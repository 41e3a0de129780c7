"""Resident and virtual memory and CPU use of a whole process tree."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence

from assay.core.contracts import Peak

_PAGE = os.sysconf("SC_PAGE_SIZE")


class ProcessMonitor:
    """Sums over the tree. Pages that two processes share count twice in `rss`; see `pss`.

    CPU time is read from the clock of another process, which has the number (~pid << 3) | 2
    (CPUCLOCK_SCHED in the kernel's posix-timers.h): it counts nanoseconds, where /proc/PID/stat
    counts hundredths of a second, too coarse for ten samples a second.
    """

    period = 0.1
    peaks: Mapping[str, Peak] = {
        "max_rss": ("rss", "max"),
        "max_vms": ("vms", "max"),
        "max_cpu_percent": ("cpu_percent", "max"),
        "mean_cpu_percent": ("cpu_percent", "mean"),
    }

    def __init__(self, proc: str = "/proc", clock: Callable[[], float] = time.monotonic) -> None:
        self._proc = proc
        self._clock = clock
        self._last: float | None = None
        self._used: dict[int, float] = {}  # CPU seconds at the last sample
        self._open: dict[int, int] = {}  # kept open: pids are reused

    def missing(self) -> str:
        return "" if os.path.exists("/proc/self/statm") else "this system has no /proc"

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        """Empty if the whole tree has exited; without CPU use in the first sample.

        Without function calls, as they are expensive ten times a second with cold caches.
        """
        virtual = resident = 0
        spent = 0.0
        for pid in pids:
            try:
                if pid not in self._open:
                    self._open[pid] = os.open(f"{self._proc}/{pid}/statm", os.O_RDONLY)
                size, pages, _ = os.pread(self._open[pid], 128, 0).split(maxsplit=2)
                used = time.clock_gettime((~pid << 3) | 2)
            except (OSError, ValueError):  # exited, or exiting: the file is empty
                self._forget(pid)
                continue
            virtual += int(size)
            resident += int(pages)
            # CPU time of a new process before its first sample does not count
            spent += max(0.0, used - self._used.get(pid, used))
            self._used[pid] = used
        if not self._open or not virtual:
            return {}
        now, last = self._clock(), self._last
        self._last = now
        memory = {"rss": resident * _PAGE, "vms": virtual * _PAGE}
        if last is None:
            return memory
        return {**memory, "cpu_percent": 100 * spent / (now - last) if now > last else 0.0}

    def close(self) -> None:
        for pid in list(self._open):
            self._forget(pid)

    def _forget(self, pid: int) -> None:
        self._used.pop(pid, None)
        if pid in self._open:
            os.close(self._open.pop(pid))


PROVIDES = {"process": ProcessMonitor}
