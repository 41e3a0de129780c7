"""What assay's timing costs: the same session timed by assay and by a loop written by hand.

    python benchmarks/overhead.py            all six backends, a few minutes
    python benchmarks/overhead.py torch jax
    python benchmarks/overhead.py --quick    seconds, for the tests: too short to prove anything

Each backend is opened once, with a worker's variables. The two ways of timing alternate
on that one session, in random order within each pair; the ratio is assay's time over the loop's,
its interval the bootstrap of the median of paired log-ratios, at 99 %, since six are looked at.
One thread: what timing costs does not depend on it, and waiting threads make a busy machine noisy.
"""

from __future__ import annotations

import functools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.records import Case
from assay.measure import plan, process_env
from assay.worker import timing

CASE = "mnist-mlp:batch_size=64,units=256,hidden=2@"
SIX = ("keras-jax", "keras-tensorflow", "keras-torch", "jax", "tensorflow", "torch")
PIECE = 0.02  # seconds of steps in one timing
LONGEST = 60.0  # seconds for one backend
TARGET = 0.01  # half-width to reach

Loop = Callable[[int], None]


def main(words: list[str]) -> int:
    if words[:1] == ["--inside"]:
        print(json.dumps(ratios(words[1], float(words[2]))))
        return 0
    seconds = 1.0 if "--quick" in words else LONGEST
    good = True
    print(f"{'backend':18} {'ratio':>7}  {'99 % interval':17} {'pairs':>6}")
    for backend in [word for word in words if not word.startswith("-")] or SIX:
        logs = with_variables(backend, seconds)
        middle, low, high = np.exp(interval(logs))
        fine = low <= 1 <= high and (high - low) / 2 <= TARGET
        good &= bool(fine)
        mark = "" if fine else "  does not show an overhead of nothing"
        print(
            f"{backend:18} {middle:7.4f}  [{low:.4f}, {high:.4f}] {len(logs):6}{mark}", flush=True
        )
    return 0 if good or "--quick" in words else 1


def with_variables(backend: str, seconds: float) -> list[float]:
    case = plan.resolve(parse_case(f"{CASE}{backend}:threads=1"))
    with tempfile.TemporaryDirectory() as folder:
        ran = subprocess.run(
            [sys.executable, __file__, "--inside", backend, str(seconds)],
            env={**os.environ, **process_env.variables(case, Path(folder))},
            stdout=subprocess.PIPE,
            check=True,
        )
    return list(json.loads(ran.stdout.splitlines()[-1]))


def ratios(backend: str, seconds: float) -> list[float]:
    """Logarithms of assay's time over the loop's, one for each pair."""
    case = plan.resolve(parse_case(f"{CASE}{backend}:threads=1"))
    order = random.Random(0)
    opened: Any = registry.backend(backend).open(_builder(case), case)
    with opened as session:
        steps = max(1, round(PIECE / min(s for _, s in timing.take(session, 1, 50, 2.0))))
        ways = (
            functools.partial(_by_assay, session, steps),
            functools.partial(_by_hand, LOOPS[backend](session), steps),
        )
        for way in ways * 3:
            way()
        logs: list[float] = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end and not _narrow(logs):
            first = order.randrange(2)
            taken = {index: ways[index]() for index in (first, 1 - first)}
            logs.append(float(np.log(taken[0] / taken[1])))
    return logs


def interval(logs: list[float]) -> tuple[float, float, float]:
    """Median of the log-ratios, and its 99 % bootstrap interval."""
    values = np.array(logs)
    draws = np.random.default_rng(0).integers(0, len(values), (2000, len(values)))
    low, high = np.quantile(np.median(values[draws], axis=1), (0.005, 0.995))
    return float(np.median(values)), float(low), float(high)


def _narrow(logs: list[float]) -> bool:
    """Looked at seldom, and at the width alone, so that looking does not choose the answer."""
    if len(logs) < 100 or len(logs) % 100:
        return False
    _, low, high = interval(logs)
    return high - low <= TARGET  # half of what is allowed


def _builder(case: Case) -> Callable[[], Any]:
    workload, backend = registry.workload(case.workload), registry.backend(case.backend)
    kind = next(kind for kind in workload.kinds if kind in backend.accepts)
    return functools.partial(workload.kinds[kind], **case.params)


def _by_assay(session: Any, steps: int) -> float:
    return timing.take(session, steps, 1, 0.0)[0][1]


def _by_hand(loop: Loop, steps: int) -> float:
    start = time.perf_counter()
    loop(steps)
    return time.perf_counter() - start


def _keras_jax(session: Any) -> Loop:
    import jax

    def loop(steps: int) -> None:
        function, state, batches = session._function, session._state, session._batches
        for _ in range(steps):
            logs, state = function(state, batches)
        jax.block_until_ready((logs, state))
        session._state = state

    return loop


def _keras_tensorflow(session: Any) -> Loop:
    import tensorflow as tf

    def loop(steps: int) -> None:
        function, data = session._function, session._data
        for _ in range(steps):
            function(data)
        tf.test.experimental.sync_devices()

    return loop


def _keras_torch(session: Any) -> Loop:
    import torch

    def loop(steps: int) -> None:
        function, data = session._function, session._data
        for _ in range(steps):
            function(data)
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    return loop


def _jax(session: Any) -> Loop:
    import jax

    def loop(steps: int) -> None:
        function, state = session._function, session._state
        inputs, targets = session._inputs, session._targets
        for _ in range(steps):
            state, loss = function(state, inputs, targets)
        jax.block_until_ready((state, loss))
        session._state = state

    return loop


def _tensorflow(session: Any) -> Loop:
    import tensorflow as tf

    def loop(steps: int) -> None:
        function, inputs, targets = session._function, session._inputs, session._targets
        for _ in range(steps):
            function(inputs, targets)
        tf.test.experimental.sync_devices()

    return loop


def _torch(session: Any) -> Loop:
    import torch
    from torch.nn.functional import cross_entropy

    def loop(steps: int) -> None:
        model, optimizer = session._model, session._optimizer
        inputs, targets = session._inputs, session._targets
        for _ in range(steps):
            optimizer.zero_grad()
            cross_entropy(model(inputs), targets).backward()
            optimizer.step()
        if torch.cuda.is_available():
            torch.cuda.synchronize()

    return loop


LOOPS: dict[str, Callable[[Any], Loop]] = {
    "keras-jax": _keras_jax,
    "keras-tensorflow": _keras_tensorflow,
    "keras-torch": _keras_torch,
    "jax": _jax,
    "tensorflow": _tensorflow,
    "torch": _torch,
}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
