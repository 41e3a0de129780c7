"""Power, memory, use, clocks, heat and energy of the GPUs that a process tree uses."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from assay.contracts import Peak
from assay.monitors import _amd, _nvidia_smi, _nvml
from assay.monitors._look import Look, Source, ours, together


class GpuMonitor:
    """NVML where there is its Python package, else nvidia-smi; the kernel's files for AMD."""

    period = 0.1
    peaks: Mapping[str, Peak] = {
        "gpu_max_memory": ("gpu_memory", "max"),
        "gpu_max_memory_used": ("gpu_memory_used", "max"),
        "gpu_mean_power": ("gpu_power", "mean"),
        "gpu_max_power": ("gpu_power", "max"),
        "gpu_mean_utilization": ("gpu_utilization", "mean"),
        "gpu_mean_clock": ("gpu_clock", "mean"),
        "gpu_max_temperature": ("gpu_temperature", "max"),
        "gpu_throttled_share": ("gpu_throttled", "mean"),
        "gpu_energy_joules": ("gpu_energy", "last"),
    }

    def __init__(
        self, source: Source | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._source = source or _nvml.source() or _nvidia_smi.source() or _amd.source()
        self._clock = clock
        self._last = clock()
        self._counters: dict[int, float] = {}
        self._energy = 0.0

    def missing(self) -> str:
        if self._source:
            return ""
        return "no GPU was found by NVML, nvidia-smi or amdgpu"

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        looks = self._source.looks(pids) if self._source else []
        if not looks:  # nothing new since the last time
            return {}
        used = ours(looks)
        now = self._clock()
        passed, self._last = max(0.0, now - self._last), now
        for number in used:
            self._energy += self._joules(number, looks[number], passed)
        found = together([looks[number] for number in used])
        if "gpu_power" in found:
            found["gpu_energy"] = round(self._energy, 3)
        return found

    def close(self) -> None:
        if self._source:
            self._source.close()

    def _joules(self, number: int, look: Look, passed: float) -> float:
        """Since the last look: by the GPU's own counter, else its power times the time."""
        if look.energy is None:
            return (look.power or 0.0) * passed
        before = self._counters.get(number, look.energy)
        self._counters[number] = look.energy
        return max(0.0, look.energy - before)


PROVIDES = {"gpu": GpuMonitor}
