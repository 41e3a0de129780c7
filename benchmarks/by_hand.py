"""assay's figure for VGG16 training against loops written by hand, taking turns in one call.

Each configuration is measured by a plain script of its framework (this file, `--one NAME`) and by
`assay run`, each in fresh processes, in turn; printed are both medians and their ratio.

    python benchmarks/by_hand.py [--rounds 3] [--image 224] [--batch 16] [NAME…]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

STEPS, REPEATS = 30, 9
WARMUP = 3.0  # seconds from the first step

# name → (what the hand-written loop does, the same as a case of assay)
CONFIGURATIONS: dict[str, tuple[dict[str, Any], str]] = {
    "torch-float32": ({"frame": "torch"}, "torch:data_format=channels_first"),
    "torch-tf32": (
        {"frame": "torch", "tf32": True, "last": True},
        "torch:precision=tf32,data_format=channels_last",
    ),
    "torch-autocast-compiled": (
        {"frame": "torch", "autocast": True, "last": True, "compile": True},
        "torch:precision=bfloat16,data_format=channels_last,compiler=on",
    ),
    "torch-pure-bfloat16-graph": (
        {"frame": "torch", "pure": True, "last": True, "compile": True, "graph": True},
        "torch:precision=pure-bfloat16,data_format=channels_last,compiler=on,cuda_graphs=on",
    ),
    "jax-float32": ({"frame": "jax", "products": "highest"}, "jax"),
    "jax-pure-bfloat16": ({"frame": "jax", "pure": True}, "jax:precision=pure-bfloat16"),
    "keras-jax-bfloat16": (
        {"frame": "keras", "engine": "jax", "policy": "mixed_bfloat16"},
        "keras-jax:precision=bfloat16",
    ),
    "keras-torch-bfloat16": (
        {"frame": "keras", "engine": "torch", "policy": "mixed_bfloat16"},
        "keras-torch:precision=bfloat16",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CONFIGURATIONS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--one")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(CONFIGURATIONS[given.one][0], given.batch, given.image)))
        return
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in given.names}
    for _ in range(given.rounds):
        for name in given.names:
            pair = by_hand(name, given), by_assay(CONFIGURATIONS[name][1], given)
            taken[name].append(pair)
            print(f"{name}: {1e3 * pair[0]:.3f} ms by hand, {1e3 * pair[1]:.3f} ms", flush=True)
    table(taken)


def table(taken: dict[str, list[tuple[float, float]]]) -> None:
    print("| configuration | by hand | assay | assay / by hand | each round |")
    print("|---|---:|---:|---:|---|")
    for name, pairs in taken.items():
        hand, lab = (1e3 * statistics.median(side) for side in zip(*pairs, strict=True))
        ratios = [mine / theirs for theirs, mine in pairs]
        each = " ".join(f"{ratio:.3f}" for ratio in ratios)
        middle = statistics.median(ratios)
        print(f"| {name} | {hand:.3f} ms | {lab:.3f} ms | {middle:.3f} | {each} |")


def by_hand(name: str, given: argparse.Namespace) -> float:
    words = ["--one", name, "--batch", str(given.batch), "--image", str(given.image)]
    engine = CONFIGURATIONS[name][0].get("engine", "jax")
    variables = os.environ | {"KERAS_BACKEND": engine, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    out = output_of([sys.executable, __file__, *words], variables)
    return float(json.loads(out.splitlines()[-1]))


def by_assay(case: str, given: argparse.Namespace) -> float:
    workload = f"vgg16:batch_size={given.batch},image_size={given.image}"
    with tempfile.TemporaryDirectory() as home:
        words = ["run", f"{workload}@{case}", "--format", "json", "--budget", "5s", "--home", home]
        code = "from assay.cli import main; main()"
        out = output_of([sys.executable, "-c", code, *words], dict(os.environ))
    (result,) = json.loads(out)["results"]
    if result["status"] != "ok":
        raise RuntimeError(f"{result['status']}: {result['reason']}")
    return float(result["summary"]["step_time"]["value"])


def output_of(words: list[str], variables: dict[str, str]) -> str:
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise RuntimeError(done.stderr[-300:])
    return done.stdout


def one(wish: dict[str, Any], batch: int, image: int) -> float:
    """Median seconds of a step of the loop written by hand."""
    loop = importlib.import_module(f"loops.{wish['frame']}_loop")
    step, wait = loop.make(wish, batch, image)
    begun, taken = time.perf_counter(), []
    while time.perf_counter() - begun < WARMUP:  # a device that has just begun is cool and fast
        wait(step())
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(STEPS):
            last = step()
        wait(last)
        taken.append((time.perf_counter() - start) / STEPS)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
