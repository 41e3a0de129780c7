"""Doubts about the machine: functions from a result to a doubt or None."""

from __future__ import annotations

from collections.abc import Callable

from assay.core.findings import Doubt
from assay.core.records import Result
from assay.core.units import human

MAX_OTHER_CORES = 0.2  # cores used by other programs
MAX_STEAL = 0.01  # of the time of all CPUs
MAX_THROTTLED = 0.05  # of the time, for a GPU's clocks
MAX_QUOTA_WAIT = 0.01  # of the case's time
MAX_MONITOR_COST = 0.005  # of a core; the design limit is 0.002
MAX_SWAPPED = 1 << 20  # bytes

# Others, such as schedutil, follow the load and are as steady as performance while a case runs.
_SLOW_GOVERNORS = {"powersave", "ondemand", "conservative", "userspace"}


def throttling(result: Result) -> Doubt | None:
    share = result.peaks.get("gpu_throttled_share", 0.0)
    if share > MAX_THROTTLED:
        return Doubt(
            code="throttled",
            text=f"the GPU held its clocks back for {share:.0%} of the time (heat or power)",
            remedy="Cool it or lock its clocks, as with nvidia-smi --lock-gpu-clocks.",
        )
    times = result.peaks.get("thermal_throttles", 0.0)
    if times > 0:
        return Doubt(
            code="throttled",
            text=f"the processor slowed down for heat {times:.0f} times",
            remedy="Cool the machine, or use fewer --threads.",
        )
    return None


def other_load(result: Result) -> Doubt | None:
    busy, own = result.peaks.get("machine_busy_cores"), result.peaks.get("mean_cpu_percent")
    if busy is None or own is None or busy - own / 100 <= MAX_OTHER_CORES:
        return None
    return Doubt(
        code="other-load",
        text=f"other programs kept {busy - own / 100:.1f} cores busy meanwhile",
        remedy="Close them, and measure again.",
    )


def swap(result: Result) -> Doubt | None:
    swapped = result.peaks.get("swapped_bytes", 0.0)
    if swapped <= MAX_SWAPPED:
        return None
    return Doubt(
        code="swap",
        text=f"the machine swapped {human(swapped, 'B')} in or out meanwhile",
        remedy="Free memory, or use a smaller batch_size.",
    )


def steal(result: Result) -> Doubt | None:
    share = result.peaks.get("steal_share", 0.0)
    if share <= MAX_STEAL:
        return None
    return Doubt(
        code="steal",
        text=f"the host took {share:.1%} of the CPUs' time for other virtual machines",
        remedy="Use a machine of its own, or more --processes over a longer time.",
    )


def quota(result: Result) -> Doubt | None:
    seconds = result.peaks.get("cgroup_throttled_seconds", 0.0)
    if not result.seconds or seconds / result.seconds <= MAX_QUOTA_WAIT:
        return None
    cpus = result.environment.machine.get("cgroup_cpus")
    limit = f" of {cpus:g} CPUs" if isinstance(cpus, int | float) else ""
    fewer = f"--threads {max(1, int(cpus))}" if isinstance(cpus, int | float) else "fewer --threads"
    return Doubt(
        code="quota",
        text=f"the container's quota{limit} made the case wait for {human(seconds, 's')}",
        remedy=f"Use {fewer}, or raise the quota.",
    )


def governor(result: Result) -> Doubt | None:
    name = result.environment.machine.get("governor")
    if name not in _SLOW_GOVERNORS:
        return None
    return Doubt(
        code="governor",
        text=f"the processor's clock is governed by {name}",
        remedy="As root: cpupower frequency-set --governor performance",
    )


def monitor_cost(result: Result) -> Doubt | None:
    cost = result.peaks.get("monitor_cost", 0.0)
    if cost <= MAX_MONITOR_COST:
        return None
    return Doubt(
        code="monitor-cost",
        text=f"watching the case took {cost:.1%} of a core",
        remedy="Sample longer with --budget 1m: most of it is spent at the start.",
    )


def shared_cores(result: Result) -> Doubt | None:
    devices = result.facts.get("devices", 1)
    if devices == 1 or not str(result.facts.get("device", "")).startswith("cpu"):
        return None
    cpus = result.environment.machine.get("cpus_allowed") or result.environment.machine.get("cpus")
    return Doubt(
        code="shared-cores",
        text=f"{devices} devices shared the {cpus or ''} CPUs of one machine".replace("  ", " "),
        remedy="This shows that it works, not how it scales: measure that on GPUs.",
    )


MACHINE_DOUBTS: tuple[Callable[[Result], Doubt | None], ...] = (
    throttling,
    other_load,
    swap,
    steal,
    quota,
    governor,
    monitor_cost,
    shared_cores,
)
