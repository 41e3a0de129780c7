"""`batch_size=max`: search for the largest batch that fits, each size in a fresh worker.

The limit is the GPU's memory or, on a CPU, a share of the memory that is available when the
search begins, so that the search cannot stall the machine.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from assay.backends.options import runs_on_cpu
from assay.core import registry
from assay.core.messages import Open, TakeSamples
from assay.core.records import Case, Procedure, Value
from assay.measure import plan

if TYPE_CHECKING:  # it imports this module
    from assay.measure.case import OpenCase

MAX_SIZE = 1 << 20  # items
RESOLUTION = 32  # the search ends when the interval is at most 1/RESOLUTION of the size
MAX_TRIAL_SECONDS = 60.0  # seconds; a size that needs longer for two steps ends the search
SHARE = 0.8  # of the available memory, for a worker on the CPU

TWO_STEPS = TakeSamples(steps=2, count=1, seconds=0.0)

Search = dict[str, Value]
OpenTrial = Callable[[Case, Path, Procedure], "OpenCase"]  # a process for a size, in a folder


def resolve_batch_size(
    case: Case,
    folder: Path,
    procedure: Procedure,
    open_trial: OpenTrial,
    memory: int | None = None,
) -> tuple[Case, Search]:
    """The case with the largest size that fits, and facts of the search; a case with a fixed size
    is returned unchanged.

    The key keeps `batch_size=max`. If not even 1 fits, the case is measured at 1, so that its own
    error is reported.
    """
    if case.params.get("batch_size") != "max":
        return case, {}
    start = int(registry.workload(case.workload).params["batch_size"])
    if registry.backend(case.backend).refuses(case):
        return _with_size(case, start), {}
    if memory is None:
        memory = int(SHARE * available_memory()) if runs_on_cpu(case) else 0
    timeout = min(procedure.timeout, MAX_TRIAL_SECONDS)
    limits = msgspec.structs.replace(procedure, processes=1, timeout=timeout)
    tried: dict[int, str] = {}

    def fits(size: int) -> bool:
        sized = plan.resolve(_with_size(case, size))
        tried[size] = _ending(open_trial(sized, folder / f"batch-{size}", limits), memory)
        return tried[size] == "ok"

    maximum = find_largest(fits, start)
    if set(tried.values()) == {"skipped"}:
        return _with_size(case, start), {}
    search: Search = {
        "batch_size_search": ", ".join(f"{size} {ending}" for size, ending in tried.items()),
        "batch_size_memory": memory,
    }
    return _with_size(case, max(1, maximum)), search


def find_largest(fits: Callable[[int], bool], start: int, most: int = MAX_SIZE) -> int:
    """Double `start` until a size does not fit, then bisect; 0 if no size fits."""
    low, high = 0, start
    while high <= most and fits(high):
        low, high = high, 2 * high
    if high > most:
        return low
    while high - low > max(1, low // RESOLUTION):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def available_memory() -> int:
    """Free bytes of the machine, or of the process's control group if less."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    words = next(line.split() for line in lines if line.startswith("MemAvailable"))
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = ((group / f"memory.{name}").read_text() for name in ("max", "current"))
    except OSError:
        limit, used = "max", "0"
    available = int(words[1]) * 1024
    return available if limit.strip() == "max" else min(available, int(limit) - int(used))


def _with_size(case: Case, size: int) -> Case:
    return msgspec.structs.replace(case, params={**case.params, "batch_size": size})


def _ending(trial: OpenCase, memory: int) -> str:
    """The status of two steps at this size: the second also needs what the first allocated."""
    try:
        trial.start(Open(case=trial.case, memory=memory, outputs=False))
        trial.open()
        trial.request(TWO_STEPS)
    except KeyboardInterrupt as error:
        trial.end("interrupted", str(error))
        raise
    finally:
        trial.close()
    return trial.status
