"""One look at one GPU, and what several of them come to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Look:
    """What one GPU said, in SI units; None where it said nothing."""

    power: float | None = None  # watts
    utilization: float | None = None  # percent of the time some kernel ran
    memory_used: float | None = None  # bytes, of everybody
    memory: float | None = None  # bytes, of our processes
    clock: float | None = None  # hertz, of the multiprocessors
    temperature: float | None = None  # degrees Celsius
    throttled: bool | None = None
    number: int | None = None  # of the GPU; None: its place among the looks


class Source(Protocol):
    """A way to look at all GPUs of a maker."""

    counts_energy: bool  # whether it has counters of its own, so that nobody need add up power

    def looks(self, pids: Sequence[int]) -> list[Look]: ...

    def close(self) -> None: ...


def ours(looks: list[Look]) -> list[int]:
    """Which GPUs our processes use; all of them where the driver does not tell."""
    used = [number for number, look in enumerate(looks) if look.memory]
    return used or list(range(len(looks)))


def together(looks: list[Look]) -> dict[str, float]:
    """Sums where they make sense, else what limits: the slowest clock, the hottest chip."""
    found = {
        "gpu_power": _of(sum, [look.power for look in looks]),
        "gpu_utilization": _of(_mean, [look.utilization for look in looks]),
        "gpu_memory": _of(sum, [look.memory for look in looks]),
        "gpu_memory_used": _of(sum, [look.memory_used for look in looks]),
        "gpu_clock": _of(min, [look.clock for look in looks]),
        "gpu_temperature": _of(max, [look.temperature for look in looks]),
        "gpu_throttled": _of(max, [look.throttled for look in looks]),
    }
    return {name: float(value) for name, value in found.items() if value is not None}


def memory_of_each(looks: list[Look]) -> dict[str, float]:
    """`gpu0_memory_used` and so on, of every GPU there is, by the driver's numbers."""
    return {
        f"gpu{place if look.number is None else look.number}_memory_used": float(look.memory_used)
        for place, look in enumerate(looks)
        if look.memory_used is not None
    }


def _of(how: Callable[[list[float]], float], values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return how(known) if known else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
