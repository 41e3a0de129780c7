"""Samples of GPUs, and their combination."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class GpuSample:
    """A sample of one GPU in SI units; None: not available."""

    power: float | None = None  # watts
    utilization: float | None = None  # percent of the time with a running kernel
    memory_used: float | None = None  # bytes, of all processes
    memory: float | None = None  # bytes, of our processes
    clock: float | None = None  # hertz, of the multiprocessors
    temperature: float | None = None  # degrees Celsius
    throttled: bool | None = None
    number: int | None = None  # of the GPU; None: its index


class Source(Protocol):
    """Samples all GPUs of a vendor."""

    counts_energy: bool  # whether it has energy counters, so that power is not integrated

    def samples(self, pids: Sequence[int]) -> list[GpuSample]: ...

    def close(self) -> None: ...


def own_processes(looks: list[GpuSample]) -> list[int]:
    """GPUs that our processes use; all if the driver does not report it."""
    used = [number for number, look in enumerate(looks) if look.memory]
    return used or list(range(len(looks)))


def combine(looks: list[GpuSample]) -> dict[str, float]:
    """Sums, or limits: the lowest clock, the highest temperature."""
    metrics = {
        "gpu_power": _select(sum, [look.power for look in looks]),
        "gpu_utilization": _select(_mean, [look.utilization for look in looks]),
        "gpu_memory": _select(sum, [look.memory for look in looks]),
        "gpu_memory_used": _select(sum, [look.memory_used for look in looks]),
        "gpu_clock": _select(min, [look.clock for look in looks]),
        "gpu_temperature": _select(max, [look.temperature for look in looks]),
        "gpu_throttled": _select(max, [look.throttled for look in looks]),
    }
    return {name: float(value) for name, value in metrics.items() if value is not None}


def memory_by_process(looks: list[GpuSample]) -> dict[str, float]:
    """`gpu0_memory_used` and so on for every GPU, by the driver's numbers."""
    return {
        f"gpu{index if look.number is None else look.number}_memory_used": float(look.memory_used)
        for index, look in enumerate(looks)
        if look.memory_used is not None
    }


def _select(reduce: Callable[[list[float]], float], values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return reduce(known) if known else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
