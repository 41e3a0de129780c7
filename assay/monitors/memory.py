"""Proportional memory of a process tree, and the peak of its worker."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from assay.core.contracts import Peak
from assay.monitors.sources.proc import FilePerProcess, line_value


class MemoryMonitor:
    """Expensive, as the kernel walks all pages for `pss`: once a second, or less often."""

    period = 1.0
    peaks: Mapping[str, Peak] = {"max_pss": ("pss", "max"), "high_water": ("high_water", "max")}

    def __init__(self, proc: str = "/proc") -> None:
        self._rollups = FilePerProcess(lambda pid: f"{proc}/{pid}/smaps_rollup")
        self._status = FilePerProcess(lambda pid: f"{proc}/{pid}/status")

    def missing(self) -> str:
        return "" if os.path.exists("/proc/self/status") else "this system has no /proc"

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        """`high_water` is the worker's VmHWM; the tree's processes need not peak together."""
        shares = [line_value(self._rollups.read(pid), b"Pss:") for pid in pids]
        known = [1024 * share for share in shares if share is not None]
        metrics: dict[str, float] = {"pss": sum(known)} if any(known) else {}
        peak = line_value(self._status.read(pids[0]), b"VmHWM:") if pids else None
        if peak is not None:
            metrics["high_water"] = 1024 * peak
        return metrics

    def close(self) -> None:
        self._rollups.close()
        self._status.close()


PROVIDES = {"memory": MemoryMonitor}
