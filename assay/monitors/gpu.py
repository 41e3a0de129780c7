"""Power, memory, utilization, clocks, temperature and energy of GPUs of a process tree."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from assay.core.contracts import Peak
from assay.monitors.sources import amd, nvidia_smi, nvml
from assay.monitors.sources.gpu_sample import Source, combine, memory_by_process, own_processes


class GpuMonitor:
    """NVML if its Python package is installed, else nvidia-smi; the kernel's files for AMD."""

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
        self._source = source or nvml.source() or nvidia_smi.source() or amd.source()
        self._clock = clock
        self._last = clock()
        self._energy = 0.0

    def missing(self) -> str:
        if self._source:
            return ""
        return "no GPU was found by NVML, nvidia-smi or amdgpu"

    def sample(self, pids: Sequence[int]) -> Mapping[str, float]:
        looks = self._source.samples(pids) if self._source else []
        if not looks:  # no new data
            return {}
        now = self._clock()
        passed, self._last = max(0.0, now - self._last), now
        metrics = combine([looks[number] for number in own_processes(looks)]) | memory_by_process(
            looks
        )
        if "gpu_power" in metrics and self._source and not self._source.counts_energy:
            self._energy += metrics["gpu_power"] * passed
            metrics["gpu_energy"] = self._energy
        return metrics

    def close(self) -> None:
        if self._source:
            self._source.close()


PROVIDES = {"gpu": GpuMonitor}
