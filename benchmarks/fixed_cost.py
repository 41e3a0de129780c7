"""What a case costs beside its samples, against the bare framework's import, build and first step.

    python benchmarks/fixed_cost.py [--rounds 3] [--before CHECKOUT] [--gpu] [CASE …]
    python benchmarks/fixed_cost.py --ab 60 [--pair A B] [--rounds 3] [--before CHECKOUT]

Each round runs the bare program (benchmarks/loops) and a whole case of one sample, in random order;
with --before also that case by the assay of another checkout. The fixed cost is what is left
without the steps of warm-up and sampling, by the clock and in CPU seconds of all processes; ratios
are of medians. Sizes suit a CPU; with --gpu they are those of by_hand.py.

With --ab it is pairs of `ab` a minute instead, for so many seconds a time: of two CPU runtimes at
batch 1, with --gpu of ResNet50 on torch compiled or not, or of the --pair.
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
from typing import Any, NamedTuple

HERE = Path(__file__).parents[1]


class Compared(NamedTuple):
    case: str
    bare: str  # a program that defines step and wait


def loop(frame: str, net: str, **sizes: int) -> str:
    return (
        f"from loops.{frame}_{net} import make\n"
        f"step, wait = make({{'policy': 'float32'}}, **{sizes})\n"
    )


# As one writes it by hand: the same net and optimizer, data of the same size.
_SIZES = "sizes = [784, 1024, 1024, 1024, 1024, 10]\n"
TORCH_MLP = (
    _SIZES
    + """
import torch
from torch import nn
pairs = list(zip(sizes, sizes[1:]))
hidden = [p for a, b in pairs[:-1] for p in (nn.Linear(a, b), nn.ReLU(), nn.Dropout(0.2))]
model = nn.Sequential(*hidden, nn.Linear(1024, 10))
x, y = torch.rand(32, 784), torch.randint(0, 10, (32,))
optimizer = torch.optim.RMSprop(model.parameters(), 0.001)
def step():
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
wait = lambda _: None
"""
)
JAX_MLP = (
    _SIZES
    + """
import jax, jax.numpy as jnp, numpy as np
weights = [(jnp.asarray(np.random.rand(a, b), jnp.float32) * 0.05, jnp.zeros(b))
           for a, b in zip(sizes, sizes[1:])]
x, y = jnp.asarray(np.random.rand(32, 784), jnp.float32), jnp.asarray(np.arange(32) % 10)
def loss(weights, key):
    h = x
    for number, (w, b) in enumerate(weights[:-1]):
        h = jax.nn.relu(h @ w + b)
        kept = jax.random.bernoulli(jax.random.fold_in(key, number), 0.8, h.shape)
        h = jnp.where(kept, h / 0.8, 0)
    logits = jax.nn.log_softmax(h @ weights[-1][0] + weights[-1][1])
    return -jnp.take_along_axis(logits, y[:, None], 1).mean()
def update(state):
    weights, squares, key = state
    key, used = jax.random.split(key)
    slopes = jax.grad(loss)(weights, used)
    squares = jax.tree.map(lambda s, g: 0.9 * s + 0.1 * g**2, squares, slopes)
    weights = jax.tree.map(lambda w, g, s: w - 0.001 * g / jnp.sqrt(s + 1e-7),
                           weights, slopes, squares)
    return weights, squares, key
function = jax.jit(update, donate_argnums=0)
state = [(weights, jax.tree.map(jnp.zeros_like, weights), jax.random.key(0))]
def step():
    state[0] = function(state[0])
    return state[0]
wait = jax.block_until_ready
"""
)
KERAS_MLP = """
import keras, numpy as np
layers = [keras.Input((784,))]
for _ in range(4):
    layers += [keras.layers.Dense(1024, "relu"), keras.layers.Dropout(0.2)]
model = keras.Sequential([*layers, keras.layers.Dense(10)])
x, y = np.random.rand(32, 784).astype("float32"), np.random.randint(0, 10, 32)
wait = lambda _: None
"""
TRAINED = """
model.compile("rmsprop", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
step = lambda: model.train_on_batch(x, y)
"""
# Keras builds, the runtime runs: no file is written, so this is a little less than all of it.
RUNTIME = KERAS_MLP + "import {}\nstep = lambda: model.predict_on_batch(x)\n"
KERAS_RESNET = """
import keras, numpy as np
model = keras.applications.ResNet50(weights=None, input_shape=({image}, {image}, 3),
                                    classifier_activation=None)
x = np.random.rand({batch}, {image}, {image}, 3).astype("float32")
y = np.random.randint(0, 1000, {batch})
wait = lambda _: None
"""


def compared(gpu: bool) -> dict[str, Compared]:
    picture = {"batch": 32, "image": 224} if gpu else {"batch": 2, "image": 64}
    text = {"batch": 8, "length": 1024} if gpu else {"batch": 1, "length": 64}
    gpt2 = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257}
    resnet = "resnet50:batch_size={batch},image_size={image}".format(**picture)
    decoder = "transformer-decoder:size=base,batch_size={batch},length={length}".format(**text)
    unused = {"prompt": 1, "generated": 1}
    cases = {
        "mnist-mlp@torch": TORCH_MLP,
        "mnist-mlp@jax": JAX_MLP,
        "mnist-mlp@keras-jax": KERAS_MLP + TRAINED,
        "mnist-mlp@onnxruntime": RUNTIME.format("onnxruntime"),
        "mnist-mlp@openvino": RUNTIME.format("openvino"),
        f"{resnet}@torch": loop("torch", "resnet50", narrower=1, **picture),
        f"{resnet}@jax": loop("jax", "resnet50", narrower=1, **picture),
        f"{resnet}@keras-jax": KERAS_RESNET.format(**picture) + TRAINED,
        f"{decoder}@torch": loop("torch", "gpt2", **gpt2, **text, **unused),
        f"{decoder}@jax": loop("jax", "gpt2", **gpt2, **text, **unused),
    }
    return {case: Compared(case, program) for case, program in cases.items()}


# The first step is fixed cost; another tells what a case's further steps take.
BARE = """
import os, sys, time
os.environ["KERAS_BACKEND"] = "jax"
sys.path.insert(0, sys.argv[1])
exec(sys.argv[2])
wait(step())
wall, cpu = time.monotonic(), time.process_time()
wait(step())
print(time.monotonic() - wall, time.process_time() - cpu)
"""
CASE = """
import json, sys, assay
(r,) = assay.run(sys.argv[1], samples=1, steps_per_sample=1, budget=0.1, home=sys.argv[2])
further = [s for s in r.samples if s.phase in ("warmup", "steady")]
taken = sum(sum(s.values) * s.steps for s in further)
print(json.dumps([r.seconds - taken, sum(len(s.values) * s.steps for s in further), r.status]))
"""
PAIRS = """
import sys, time, assay
begun = time.monotonic()
*_, found = assay.ab(*sys.argv[3:5], budget=float(sys.argv[1]), home=sys.argv[2], minimum=1e-6)
print(len(found.pairs), 60 * len(found.pairs) / (time.monotonic() - begun))
"""
RUNTIMES = [f"mnist-mlp:batch_size=1@{name}" for name in ("onnxruntime", "openvino")]
OPTIONS = [
    f"resnet50:batch_size=32@torch:precision=bfloat16,data_format=channels_last,compiler={compiler}"
    for compiler in ("off", "on")
]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help="or the beginning of some")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--before", type=Path, help="another checkout of assay")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--ab", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--pair", nargs=2, metavar=("A", "B"))
    given = parser.parse_args()
    checkouts = {"after": HERE} | ({"before": given.before} if given.before else {})
    if given.ab:
        _print_pairs(given, checkouts)
        return
    for case, one in compared(given.gpu).items():
        if not given.cases or case.startswith(tuple(given.cases)):
            _print(case, _measured(one, checkouts, given))


def _print_pairs(given: argparse.Namespace, checkouts: dict[str, Path]) -> None:
    contenders = given.pair or (OPTIONS if given.gpu else RUNTIMES)
    rates: dict[str, list[float]] = {name: [] for name in checkouts}
    for _ in range(given.rounds):
        for name in random.sample(list(checkouts), len(checkouts)):
            with tempfile.TemporaryDirectory() as home:
                words = [str(given.ab), home, *contenders]
                out, *_ = _run(PAIRS, words, checkouts[name], given.gpu)
            rates[name].append(float(out.split()[1]))
            print(f"{name}: {out.split()[0]} pairs, {rates[name][-1]:.2f} a minute", flush=True)
    middle = {name: statistics.median(found) for name, found in rates.items()}
    for name, rate in middle.items():
        more = f", {rate / middle['before']:.2f} x before" if "before" in middle else ""
        print(f"{' against '.join(contenders)}, {name}: {rate:.2f} pairs a minute{more}")


def _measured(
    one: Compared, checkouts: dict[str, Path], given: argparse.Namespace
) -> dict[str, list[tuple[float, float]]]:
    """Fixed seconds by the clock and of CPU, of each."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("bare", *checkouts)}
    each: list[float] = []  # CPU seconds of a further step
    for _ in range(given.rounds):
        for name in ("bare", *random.sample(list(checkouts), len(checkouts))):
            if name == "bare":
                words = [str(HERE / "benchmarks"), one.bare]
                out, seconds, cpu = _run(BARE, words, HERE, given.gpu)
                wall, again = map(float, out.split()[-2:])
                each.append(again)
                found[name].append((seconds - wall, cpu - again))
            else:
                with tempfile.TemporaryDirectory() as home:
                    out, _, cpu = _run(CASE, [one.case, home], checkouts[name], given.gpu)
                seconds, steps, status = json.loads(out)
                if status != "ok":
                    raise SystemExit(f"{one.case} ended as {status}")
                found[name].append((seconds, cpu - steps * statistics.median(each)))
    return found


def _run(program: str, words: list[str], checkout: Path, gpu: bool) -> tuple[str, float, float]:
    """What it printed, how long it took, and the CPU seconds of it and its children."""
    before, begun = os.times(), time.monotonic()
    hidden = {} if gpu else {"CUDA_VISIBLE_DEVICES": ""}
    ran = subprocess.run(
        [sys.executable, "-c", program, *words],
        env={**os.environ, "PYTHONPATH": str(checkout), **hidden},
        cwd=checkout,  # python -c looks for assay there first
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    after = os.times()
    cpu = after.children_user + after.children_system
    return ran.stdout, time.monotonic() - begun, cpu - before.children_user - before.children_system


def _print(case: str, found: dict[str, list[Any]]) -> None:
    middle = {
        name: [statistics.median(one[at] for one in rows) for at in (0, 1)]
        for name, rows in found.items()
    }
    for name, (seconds, cpu) in middle.items():
        ratios = seconds / middle["bare"][0], cpu / middle["bare"][1]
        print(
            f"{case:60} {name:7} {seconds:6.1f} s ({ratios[0]:.2f} x)  "
            f"CPU {cpu:6.1f} s ({ratios[1]:.2f} x)",
            flush=True,
        )


if __name__ == "__main__":
    main()
