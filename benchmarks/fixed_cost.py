"""What a case costs beside its samples, against the bare framework's import, build and first step.

    python benchmarks/fixed_cost.py [--rounds 3] [--before CHECKOUT] [--ab SECONDS] [CASE …]

Each round runs the bare program and a whole case of one sample, in random order; with --before also
that case by the assay of another checkout. Ratios are of medians, by the clock and in CPU seconds
of all processes. The fixed cost by the clock is a case's time without warm-up and sampling; its CPU
seconds are all of the command's. With --ab, pairs of `ab` of two CPU runtimes a minute, too.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parents[1]

# As one writes it by hand: the same net, data of the same size, one step.
_KERAS = """
import os; os.environ["KERAS_BACKEND"] = "jax"
import keras, numpy as np
layers = [keras.Input((784,))]
layers += [keras.layers.Dense(1024, "relu") for _ in range(4)] + [keras.layers.Dense(10)]
model = keras.Sequential(layers)
x, y = np.random.rand(32, 784).astype("float32"), np.random.randint(0, 10, 32)
"""
BARE = {
    "mnist-mlp@torch": """
import torch
from torch import nn
sizes = [784, 1024, 1024, 1024, 1024]
hidden = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
model = nn.Sequential(*hidden, nn.Linear(1024, 10))
x, y = torch.rand(32, 784), torch.randint(0, 10, (32,))
optimizer = torch.optim.RMSprop(model.parameters(), 0.001)
nn.functional.cross_entropy(model(x), y).backward()
optimizer.step()
""",
    "mnist-mlp@jax": """
import jax, jax.numpy as jnp, numpy as np
sizes = [784, 1024, 1024, 1024, 1024, 10]
params = [(jnp.asarray(np.random.rand(a, b), jnp.float32) * 0.05, jnp.zeros(b))
          for a, b in zip(sizes, sizes[1:])]
x, y = jnp.asarray(np.random.rand(32, 784), jnp.float32), jnp.asarray(np.arange(32) % 10)
def loss(params):
    h = x
    for w, b in params[:-1]:
        h = jax.nn.relu(h @ w + b)
    logits = jax.nn.log_softmax(h @ params[-1][0] + params[-1][1])
    return -jnp.take_along_axis(logits, y[:, None], 1).mean()
@jax.jit
def step(params):
    return jax.tree.map(lambda p, g: p - 0.001 * g, params, jax.grad(loss)(params))
jax.block_until_ready(step(params))
""",
    "mnist-mlp@keras-jax": _KERAS
    + """
model.compile("rmsprop", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.train_on_batch(x, y)
""",
    # Keras builds, the runtime runs: no file is written, so this is a little less than all of it
    "mnist-mlp@onnxruntime": _KERAS + "import onnxruntime\nmodel(x)\n",
}
CASE = """
import json, sys, assay
(r,) = assay.run(sys.argv[1], samples=1, steps_per_sample=1, budget=0.1, home=sys.argv[2])
taken = sum(sum(s.values) * s.steps for s in r.samples if s.phase in ("warmup", "steady"))
print(json.dumps([r.seconds - taken, r.status]))
"""
PAIRS = """
import sys, time, assay
begun = time.monotonic()
*_, found = assay.ab("mnist-mlp:batch_size=1@onnxruntime", "mnist-mlp:batch_size=1@openvino",
                     budget=float(sys.argv[1]), home=sys.argv[2], minimum=1e-6)
print(len(found.pairs), 60 * len(found.pairs) / (time.monotonic() - begun))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(BARE), metavar="CASE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--ab", type=float, default=0.0)
    given = parser.parse_args()
    checkouts = {"after": HERE} | ({"before": given.before} if given.before else {})
    for case in given.cases if given.rounds else []:
        _print(case, _measured(case, checkouts, given.rounds))
    for name, checkout in checkouts.items() if given.ab else ():
        with tempfile.TemporaryDirectory() as home:
            out, *_ = _run(PAIRS, [str(given.ab), home], checkout)
        pairs, rate = out.split()
        print(f"ab of two CPU runtimes, {name}: {pairs} pairs, {float(rate):.2f} a minute")


def _measured(
    case: str, checkouts: dict[str, Path], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Seconds by the clock and of CPU, of each."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("bare", *checkouts)}
    for _ in range(rounds):
        for name in random.sample(list(found), len(found)):
            if name == "bare":
                _, seconds, cpu = _run(BARE[case], [], HERE)
            else:
                with tempfile.TemporaryDirectory() as home:
                    out, _, cpu = _run(CASE, [case, home], checkouts[name])
                seconds, status = json.loads(out)
                if status != "ok":
                    raise SystemExit(f"{case} ended as {status}")
            found[name].append((seconds, cpu))
    return found


def _run(program: str, words: list[str], checkout: Path) -> tuple[str, float, float]:
    """What it printed, how long it took, and the CPU seconds of it and its children."""
    before, begun = os.times(), time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**os.environ, "PYTHONPATH": str(checkout), "CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    after = os.times()
    cpu = after.children_user + after.children_system
    return ran.stdout, time.monotonic() - begun, cpu - before.children_user - before.children_system


def _print(case: str, found: dict[str, list[tuple[float, float]]]) -> None:
    middle = {
        name: [statistics.median(one[at] for one in rows) for at in (0, 1)]
        for name, rows in found.items()
    }
    for name, (seconds, cpu) in middle.items():
        ratios = seconds / middle["bare"][0], cpu / middle["bare"][1]
        print(
            f"{case:24} {name:7} {seconds:6.1f} s ({ratios[0]:.2f} x)  "
            f"CPU {cpu:6.1f} s ({ratios[1]:.2f} x)",
            flush=True,
        )


if __name__ == "__main__":
    main()
