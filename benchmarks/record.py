"""Record long traces of real step times, each in a fresh process: the raw material of coverage.py.

python benchmarks/record.py benchmarks/data/traces.npz          # all of them
python benchmarks/record.py /tmp/one.npz torch-cnn jax-mlp      # some
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.worker.timing import take

Step = Callable[[], object]
Wait = Callable[[Any], object]


def numpy_matmul(size: int) -> tuple[Step, Wait]:
    matrix = np.random.default_rng(0).standard_normal((size, size)).astype(np.float32)
    return lambda: matrix @ matrix, lambda done: done


def numpy_sort(size: int) -> tuple[Step, Wait]:
    values = np.random.default_rng(0).standard_normal(size)
    return lambda: np.sort(values), lambda done: done


def jax_mlp(units: int, batch_size: int) -> tuple[Step, Wait]:
    import jax
    import jax.numpy as jnp

    weights = [jax.random.normal(jax.random.key(i), (units, units)) * 0.05 for i in range(3)]
    batch = jax.random.normal(jax.random.key(9), (batch_size, units))

    def loss(weights: list[Any]) -> Any:
        value = batch
        for weight in weights:
            value = jnp.maximum(value @ weight, 0)
        return (value**2).mean()

    function = jax.jit(jax.grad(loss))
    return lambda: function(weights), jax.block_until_ready


def torch_cnn(batch_size: int, compiled: bool = False) -> tuple[Step, Wait]:
    import torch

    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(32 * 16 * 16, 10),
    )
    optimizer = torch.optim.SGD(net.parameters(), 0.001)
    pictures = [torch.randn(size, 3, 32, 32) for size in (batch_size, batch_size - 1)]
    forward = torch.compile(net) if compiled else net
    count = 0

    def step() -> object:
        nonlocal count
        count += 1
        # the thirtieth step of the compiled net has another shape: torch compiles once more
        picture = pictures[1 if compiled and count == 30 else 0]
        optimizer.zero_grad()
        forward(picture).square().mean().backward()
        optimizer.step()
        return None

    return step, lambda done: done


def python_loop() -> tuple[Step, Wait]:
    return lambda: sum(i * i for i in range(3000)), lambda done: done


MADE: dict[str, Callable[[], tuple[Step, Wait]]] = {
    "python-loop": python_loop,
    "numpy-matmul": partial(numpy_matmul, 160),
    "numpy-matmul-slow": partial(numpy_matmul, 768),
    "numpy-sort": partial(numpy_sort, 8_000),
    "numpy-sort-slow": partial(numpy_sort, 200_000),
    "jax-mlp": partial(jax_mlp, 128, 32),
    "jax-mlp-slow": partial(jax_mlp, 512, 256),
    "torch-cnn": partial(torch_cnn, 2),
    "torch-cnn-slow": partial(torch_cnn, 32),
    "torch-compile": partial(torch_cnn, 8, compiled=True),
    "torch-compile-slow": partial(torch_cnn, 32, compiled=True),
}


class _Session:
    items = 1

    def __init__(self, step: Step, wait: Wait) -> None:
        self._step, self._wait, self._done = step, wait, None

    def step(self) -> None:
        self._done = self._step()  # type: ignore[assignment]

    def wait(self) -> None:
        self._wait(self._done)

    def facts(self) -> dict[str, Any]:
        return {}


def trace(name: str, count: int, seconds: float) -> list[float]:
    """Single steps of one workload from its very first one, in this process, on one CPU."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return [length for _, length in take(_Session(*MADE[name]()), 1, count, seconds)]


def main() -> None:
    if sys.argv[1] == "--one":
        print(json.dumps(trace(sys.argv[2], 4000, 60.0)))
        return
    path, names = Path(sys.argv[1]), sys.argv[2:] or list(MADE)
    kept = {}
    for name in names:
        begun = time.monotonic()
        command = [sys.executable, __file__, "--one", name]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        kept[name] = np.array(json.loads(answer.stdout.splitlines()[-1]), dtype=np.float32)
        median = np.median(kept[name]) * 1e3
        print(f"{name}: {len(kept[name])} steps, {median:.3f} ms, {time.monotonic() - begun:.0f} s")
    np.savez_compressed(path, **kept)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
