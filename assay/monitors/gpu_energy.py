"""Energy of the GPUs of a process tree, by NVIDIA's counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.core.contracts import Peak
from assay.monitors.sources import nvml


class GpuEnergyMonitor:
    """Separate from GpuMonitor, because reading a counter takes milliseconds."""

    period = 10.0
    peaks: Mapping[str, Peak] = {"gpu_energy_joules": ("gpu_energy", "last")}

    def __init__(self, source: nvml.NvmlSource | None = None) -> None:
        self._source = source or nvml.source()
        self._start = self._source.energies() if self._source else []
        self._used: set[int] = set()

    def missing(self) -> str:
        return "" if any(self._start) else "NVML, or a GPU with an energy counter, was not found"

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        """Joules since the worker started, of all GPUs it has used, or of all if none is known."""
        if not self._source:
            return {}
        looks = self._source.samples(pids)
        self._used |= {number for number, look in enumerate(looks) if look.memory}
        used_joules = [
            now - then for now, then in zip(self._source.energies(), self._start, strict=True)
        ]
        return {"gpu_energy": sum(used_joules[i] for i in self._used or range(len(used_joules)))}

    def close(self) -> None:
        """NVML stays started, see `_nvml`."""


PROVIDES = {"gpu-energy": GpuEnergyMonitor}
