"""NVIDIA GPUs through NVML and its Python package, nvidia-ml-py (the extra `gpu`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from assay.monitors.sources.gpu_sample import GpuSample

# nvml.h, nvmlClocksEventReasons: power cap, hardware slowdown, thermal (software, hardware), brake.
THROTTLES = 0x4 | 0x8 | 0x20 | 0x40 | 0x80


def source() -> NvmlSource | None:
    library = load()
    return NvmlSource(library) if library and library.nvmlDeviceGetCount() else None


@cache
def load() -> Any:
    """The initialized package, or None: no package, no driver, no permission."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except ImportError:
        return None
    except pynvml.NVMLError:
        return None
    return pynvml


class NvmlSource:
    """On an H200 a sample takes 60 µs, mostly for the processes; the energy takes 3.7 ms."""

    counts_energy = True

    def __init__(self, library: Any) -> None:
        self._library = library
        self._devices = [
            library.nvmlDeviceGetHandleByIndex(i) for i in range(library.nvmlDeviceGetCount())
        ]

    def samples(self, pids: Sequence[int]) -> list[GpuSample]:
        return [self._look(device, set(pids)) for device in self._devices]

    def energies(self) -> list[float]:
        """Joules of each GPU since its driver was loaded; 0 without a counter."""
        ask = self._library.nvmlDeviceGetTotalEnergyConsumption
        return [(self._ask(ask, device) or 0) / 1e3 for device in self._devices]

    def close(self) -> None:
        """NVML stays initialized, which saves milliseconds per case."""

    def _look(self, device: object, pids: set[int]) -> GpuSample:
        library = self._library
        power = self._ask(library.nvmlDeviceGetPowerUsage, device)
        rates = self._ask(library.nvmlDeviceGetUtilizationRates, device)
        memory = self._ask(library.nvmlDeviceGetMemoryInfo, device)
        clock = self._ask(library.nvmlDeviceGetClockInfo, device, library.NVML_CLOCK_SM)
        reasons = self._ask(library.nvmlDeviceGetCurrentClocksThrottleReasons, device)
        return GpuSample(
            power=None if power is None else power / 1e3,
            utilization=None if rates is None else rates.gpu,
            memory_used=None if memory is None else memory.used,
            memory=self._memory_of(device, pids),
            clock=None if clock is None else clock * 1e6,
            temperature=self._ask(
                library.nvmlDeviceGetTemperature, device, library.NVML_TEMPERATURE_GPU
            ),
            throttled=None if reasons is None else bool(reasons & THROTTLES),
        )

    def _memory_of(self, device: object, pids: set[int]) -> float | None:
        """None if our processes are not listed: in a container the driver has other pids."""
        running = self._ask(self._library.nvmlDeviceGetComputeRunningProcesses, device) or []
        sizes = [p.usedGpuMemory for p in running if p.pid in pids and p.usedGpuMemory is not None]
        return float(sum(sizes)) if sizes else None

    def _ask(self, function: Callable[..., Any], *words: object) -> Any:
        try:
            return function(*words)
        except self._library.NVMLError:  # not supported, or no permission
            return None
