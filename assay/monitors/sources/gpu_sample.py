"""Samples of GPUs, and their combination."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Look:
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

    def samples(self, pids: Sequence[int]) -> list[Look]: ...

    def close(self) -> None: ...


def ours(looks: list[Look]) -> list[int]:
    """GPUs that our processes use; all if the driver does not report it."""
    used = [number for number, look in enumerate(looks) if look.memory]
    return used or list(range(len(looks)))


def together(looks: list[Look]) -> dict[str, float]:
    """Sums, or limits: the lowest clock, the highest temperature."""
    metrics = {
        "gpu_power": _of(sum, [look.power for look in looks]),
        "gpu_utilization": _of(_mean, [look.utilization for look in looks]),
        "gpu_memory": _of(sum, [look.memory for look in looks]),
        "gpu_memory_used": _of(sum, [look.memory_used for look in looks]),
        "gpu_clock": _of(min, [look.clock for look in looks]),
        "gpu_temperature": _of(max, [look.temperature for look in looks]),
        "gpu_throttled": _of(max, [look.throttled for look in looks]),
    }
    return {name: float(value) for name, value in metrics.items() if value is not None}


def memory_of_each(looks: list[Look]) -> dict[str, float]:
    """`gpu0_memory_used` and so on for every GPU, by the driver's numbers."""
    return {
        f"gpu{index if look.number is None else look.number}_memory_used": float(look.memory_used)
        for index, look in enumerate(looks)
        if look.memory_used is not None
    }


def _of(reduce: Callable[[list[float]], float], values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return reduce(known) if known else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
