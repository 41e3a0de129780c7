"""Energy of the processor packages and their memory, from the kernel's RAPL counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.core.contracts import Peak
from assay.monitors.sources.proc import OpenFile

FOLDER = Path("/sys/class/powercap")


class EnergyMonitor:
    """Energy of the whole machine: RAPL has no counters per process."""

    period = 1.0  # counters wrap after a minute or more
    peaks: Mapping[str, Peak] = {"cpu_energy_joules": ("cpu_energy", "last")}

    def __init__(self, folder: Path = FOLDER) -> None:
        self._counters = [_Counter(zone) for zone in _zones(folder)]

    def missing(self) -> str:
        if any(counter.readable for counter in self._counters):
            return ""
        return "RAPL counters cannot be read: they need root, or this machine has none"

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        """Joules since the first sample."""
        return {"cpu_energy": sum(counter.joules() for counter in self._counters)}

    def close(self) -> None:
        for counter in self._counters:
            counter.close()


class _Counter:
    """Microjoules of one zone; the counter wraps to zero."""

    def __init__(self, zone: Path) -> None:
        self._file = OpenFile(str(zone / "energy_uj"))
        self._range = _number(zone / "max_energy_range_uj")
        self._last = self._file.number()
        self._total = 0
        self.readable = self._last is not None

    def joules(self) -> float:
        now = self._file.number()
        if now is not None and self._last is not None:
            passed = now - self._last
            self._total += passed if passed >= 0 else passed + self._range
        self._last = now if now is not None else self._last
        return self._total / 1e6

    def close(self) -> None:
        self._file.close()


def _zones(folder: Path) -> list[Path]:
    """Packages and their DRAM. Cores are part of a package, and psys counts packages again."""
    try:
        zones = sorted(folder.glob("intel-rapl:*"))
        return [z for z in zones if (z / "name").read_text().startswith(("package", "dram"))]
    except OSError:
        return []


def _number(path: Path) -> int:
    file = OpenFile(str(path))
    try:
        return file.number() or 0
    finally:
        file.close()


PROVIDES = {"energy": EnergyMonitor}
