"""Other activity of the machine during a case: load, steal time, swap, throttling."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from assay.core.contracts import Peak
from assay.monitors.sources import cgroup
from assay.monitors.sources.proc import OpenFile, line_value

_PAGE = os.sysconf("SC_PAGE_SIZE")
_THROTTLES = "/sys/devices/system/cpu/cpu0/thermal_throttle/"


class MachineMonitor:
    """Differences of kernel counters since the first sample."""

    period = 2.0
    peaks: Mapping[str, Peak] = {
        "machine_busy_cores": ("machine_busy", "mean"),
        "steal_share": ("steal", "mean"),
        "swapped_bytes": ("swapped", "last"),
        "cgroup_throttled_seconds": ("cgroup_throttled", "last"),
        "thermal_throttles": ("thermal_throttles", "last"),
    }

    def __init__(self, proc: str = "/proc") -> None:
        quota = cgroup.file("cpu", "cpu.stat")
        self._ticks = OpenFile(f"{proc}/stat", size=256)
        self._files = {
            "swapped": OpenFile(f"{proc}/vmstat", size=16384),
            "cgroup_throttled": OpenFile(str(quota) if quota else ""),
            "thermal_throttles": OpenFile(_THROTTLES + "package_throttle_count"),
        }
        self._before = _ticks(self._ticks.read())
        self._start = self._counters()

    def missing(self) -> str:
        return "" if self._before else "/proc/stat cannot be read"

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        metrics = {
            name: value - self._start[name]
            for name, value in self._counters().items()
            if name in self._start
        }
        now = _ticks(self._ticks.read())
        if now and self._before:
            metrics |= _shares([b - a for a, b in zip(self._before, now, strict=True)])
        self._before = now
        return metrics

    def close(self) -> None:
        for file in (self._ticks, *self._files.values()):
            file.close()

    def _counters(self) -> dict[str, float]:
        counters = {
            "swapped": _swap_bytes(self._files["swapped"].read()),
            "cgroup_throttled": _throttled_seconds(self._files["cgroup_throttled"].read()),
            "thermal_throttles": self._files["thermal_throttles"].number(),
        }
        return {name: value for name, value in counters.items() if value is not None}


def _ticks(text: bytes) -> list[int]:
    """user, nice, system, idle, iowait, irq, softirq, steal of all CPUs together."""
    words = text.partition(b"\n")[0].split()[1:9]
    return [int(word) for word in words] if len(words) == 8 else []


def _shares(ticks: list[int]) -> dict[str, float]:
    total = sum(ticks)
    if total <= 0 or min(ticks) < 0:  # too early, or a counter was reset
        return {}
    user, nice, system, _, _, interrupts, soft, steal = ticks
    busy = user + nice + system + interrupts + soft
    return {
        "machine_busy": round(busy / total * (os.cpu_count() or 1), 3),
        "steal": round(steal / total, 4),
    }


def _swap_bytes(text: bytes) -> float | None:
    pages = [line_value(text, name) for name in (b"pswpin ", b"pswpout ")]
    return sum(page * _PAGE for page in pages if page) if None not in pages else None


def _throttled_seconds(text: bytes) -> float | None:
    """Seconds that this cgroup was throttled: microseconds in version 2, nanoseconds in 1."""
    for name, scale in ((b"throttled_usec ", 1e-6), (b"throttled_time ", 1e-9)):
        value = line_value(text, name)
        if value is not None:
            return value * scale
    return None


PROVIDES = {"machine": MachineMonitor}
