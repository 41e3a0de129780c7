"""What is wrong with models drawn from seeds, once captured and built.

    python -m tests.native.fuzzing 0 1000 --processes 14 --minutes 8 --output found.txt

does without pytest what `test_fuzz.py` does, a block of seeds in each process: one that crashes is
found as well. Blocks that were not done when the time is up are told.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from assay.core.errors import UsageError
from assay.native import reference
from assay.native.agreement import ALLOWED, distance
from assay.native.build import runtime_parts
from assay.native.capture import capture, reference_outputs
from assay.native.passes.pipeline import optimize
from assay.native.toolchain import onednn_folder, toolchain
from tests.native.by_others import by_onnxruntime
from tests.native.keras_models import draw
from tests.native.many import build_many, by_library

BLOCK = 10


def wrong(keras, seeds, cache, folder):
    """What is wrong with the nets of these seeds, in words."""
    found, drawn = [], {}
    for seed in seeds:
        model, unfit = draw(keras, seed)
        try:
            graph = capture(model)
        except UsageError as error:
            if not unfit or f"The layer '{unfit}' " not in str(error):
                found.append(f"{seed}: refused ({error})")
            continue
        if unfit:
            found.append(f"{seed}: not refused")
        else:
            drawn[seed] = (graph, reference_outputs(model, graph).first())  # no unusual items
    built = build_many([graph for graph, _ in drawn.values()], toolchain("auto"), cache, folder)
    for (seed, (graph, told)), made in zip(drawn.items(), built, strict=True):
        found += judged(seed, graph, told, made)
    return found


def judged(seed, graph, told, made):
    kernels = ("auto", "portable", "onednn") if onednn_folder() else ("portable",)
    found = {
        "reference": reference.outputs(optimize(graph), *told.inputs, dtype=np.float64),
        "onnx": by_onnxruntime(graph, told.inputs),
        "in a team": by_library(*made, told.inputs, batch=1, threads=2),
        **{kind: by_library(*made, told.inputs, kind) for kind in kernels},
    }
    apart = {
        who: max(distance(here, there) for here, there in zip(outputs, told.outputs, strict=True))
        for who, outputs in found.items()
    }
    return [f"{seed}: {who} {far:.2g}" for who, far in apart.items() if far > ALLOWED]


def main():
    asked = arguments()
    with tempfile.TemporaryDirectory(prefix="assay-fuzz-") as cache:
        if asked.cache:
            one_block(range(asked.first, asked.end), Path(asked.cache))
        else:
            many_blocks(asked, Path(cache))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("end", type=int, help="the first seed that is not drawn")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--output", default="fuzzing.txt", help="a line for each block")
    parser.add_argument("--cache", help="of compiled code: this is one block's process")
    return parser.parse_args()


def one_block(seeds, cache):
    os.environ.setdefault("KERAS_BACKEND", "torch")  # it need not compile each of them
    import keras

    with tempfile.TemporaryDirectory(prefix="assay-fuzz-") as folder:
        for line in wrong(keras, seeds, cache, Path(folder)):
            print(line)


def many_blocks(asked, cache):
    end = time.monotonic() + 60 * asked.minutes
    runtime_parts(toolchain("auto"), cache)
    blocks = [range(at, min(at + BLOCK, asked.end)) for at in range(asked.first, asked.end, BLOCK)]
    with open(asked.output, "w") as output, ThreadPoolExecutor(asked.processes) as pool:
        done = bad = 0
        for block, said in pool.map(lambda each: (each, in_process(each, cache, end)), blocks):
            done += len(block) * (said != LATE)
            bad += said not in ("", LATE)
            print(
                f"seeds {block.start} to {block.stop - 1}: {said or 'right'}",
                file=output,
                flush=True,
            )
        told = (
            f"{done} of {asked.end - asked.first} models drawn, {bad} blocks with something wrong"
        )
        print(told, file=output)
        print(told)


LATE = "not done: the time was up"


def in_process(block, cache, end):
    words = [str(block.start), str(block.stop), "--cache", str(cache)]
    left = end - time.monotonic()
    if left <= 0:
        return LATE
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "tests.native.fuzzing", *words],
            capture_output=True,
            text=True,
            timeout=left,
        )
    except subprocess.TimeoutExpired:
        return LATE
    crashed = f"status {ended.returncode}: {ended.stderr[-1500:]}" if ended.returncode else ""
    return (ended.stdout + crashed).strip()


if __name__ == "__main__":
    main()
