"""Energy of the GPUs a process tree uses, by NVIDIA's own counters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.core.contracts import Peak
from assay.monitors.sources import nvml


class GpuEnergyMonitor:
    """Apart from the other looks at a GPU, because a counter takes milliseconds to read."""

    period = 10.0
    peaks: Mapping[str, Peak] = {"gpu_energy_joules": ("gpu_energy", "last")}

    def __init__(self, source: nvml.NvmlSource | None = None) -> None:
        self._source = source or nvml.source()
        self._start = self._source.energies() if self._source else []
        self._used: set[int] = set()

    def missing(self) -> str:
        return "" if any(self._start) else "NVML, or a GPU with an energy counter, was not found"

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        """Joules since the worker started, of the GPUs it was ever seen on; if of none, of all."""
        if not self._source:
            return {}
        looks = self._source.looks(pids)
        self._used |= {number for number, look in enumerate(looks) if look.memory}
        risen = [now - then for now, then in zip(self._source.energies(), self._start, strict=True)]
        return {"gpu_energy": sum(risen[i] for i in self._used or range(len(risen)))}

    def close(self) -> None:
        """NVML stays started, see `_nvml`."""


PROVIDES = {"gpu-energy": GpuEnergyMonitor}
