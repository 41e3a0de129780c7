"""Peak rates of this machine: matrix products in each precision, and a copy.

`python -m assay.worker.peaks SECONDS` prints them as JSON lines: by PyTorch if it is installed,
for GPUs and the short types, else by numpy.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from assay.core.clock import Clock, clock

Call = Callable[[], object]
Kernel = tuple[str, str, float, Call, Call]  # device, what, amount of one call, call, wait

# Of square matrices, so large that larger ones are no faster; more cores need more work.
CPU_SIZE, GPU_SIZE = 1024 * max(1, round((len(os.sched_getaffinity(0)) / 2) ** 0.5)), 8192
CPU_BYTES, GPU_BYTES = 1 << 28, 1 << 31  # of a copy: larger than any cache


def main() -> None:
    seconds = float(sys.argv[1])
    for device, what, amount, call, wait in _kernels():
        try:
            best = shortest(call, wait, seconds)
        except (RuntimeError, NotImplementedError, TypeError):  # not offered on this device
            continue
        peak = {"device": device, "what": what, "rate": amount / best}
        sys.stdout.write(json.dumps(peak) + "\n")
        sys.stdout.flush()  # the caller may end this process at any time


def shortest(call: Call, wait: Call, seconds: float, clock: Clock = clock) -> float:
    """The shortest of the calls that fit into the time. The first only counts if it filled it."""

    def once() -> float:
        start = clock()
        call()
        wait()
        return clock() - start

    best, end = once(), clock() + seconds
    if best >= seconds:
        return best
    best = once()
    while clock() < end:
        best = min(best, once())
    return best


def _kernels() -> Iterator[Kernel]:
    try:
        import torch
    except ImportError:
        yield from _numpy_kernels()
        return
    yield from _torch_kernels(torch, "cpu", "cpu", CPU_SIZE, CPU_BYTES, lambda: None)
    for i in range(torch.cuda.device_count()):
        wait = torch.cuda.synchronize  # a step ends when the device has ended
        yield from _torch_kernels(torch, f"cuda:{i}", f"gpu{i}", GPU_SIZE, GPU_BYTES, wait)


def _torch_kernels(
    torch: Any,
    torch_device: str,
    device: str,
    size: int,
    length: int,
    wait: Call,
) -> Iterator[Kernel]:
    amount = 2.0 * size**3
    source = torch.ones(length // 4, device=torch_device)
    yield device, "copy", 2.0 * length, _bind(torch.empty_like(source).copy_, source), wait
    for what in ("float32", "tf32", "float64", "bfloat16", "float16"):
        if what == "tf32" and torch_device == "cpu":
            continue
        torch.backends.cuda.matmul.allow_tf32 = what == "tf32"
        kind = getattr(torch, "float32" if what == "tf32" else what)
        left = torch.randn(size, size, device=torch_device).to(kind)
        yield device, what, amount, _bind(torch.mm, left, left), wait
    left = torch.randint(-128, 127, (size, size), device=torch_device, dtype=torch.int8)
    yield device, "int8", amount, _bind(torch._int_mm, left, left.t().contiguous().t()), wait


def _numpy_kernels() -> Iterator[Kernel]:
    import numpy as np

    for what in ("float32", "float64"):
        left = np.random.default_rng(0).random((CPU_SIZE, CPU_SIZE)).astype(what)
        yield "cpu", what, 2.0 * CPU_SIZE**3, _bind(np.dot, left, left), lambda: None
    source = np.ones(CPU_BYTES // 4, np.float32)
    yield "cpu", "copy", 2.0 * CPU_BYTES, _bind(np.copyto, source.copy(), source), lambda: None


def _bind(function: Callable[..., object], *values: object) -> Call:
    return lambda: function(*values)


if __name__ == "__main__":
    main()
