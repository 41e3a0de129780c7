"""HPVM-C against our own binary of the same net: time of a batch, taking turns.

    python benchmarks/hpvm.py                         # all ten nets
    python benchmarks/hpvm.py lenet alexnet2 --rounds 9 --batch 50

Both are built from one graph with the same weights, and run over random images, one process after
the other, in an order that changes with the round. Every process chooses its kernels anew. Of a
process the quickest of its passes over four batches counts, as others use the machine too. A ratio
is that of a round, HPVM-C over our own; the interval is the 95 % one of the mean of their
logarithms. How far the outputs of the first pass are apart is told as a share of the largest.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from assay.analysis.student import two_sided
from assay.engine.capture import captured
from assay.native.compile import built_model
from assay.native.graph import Graph
from assay.native.hpvm.frontend import ImageSet, write_images, write_sources, write_weights
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.native.hpvm.program import build_models, compile_program, run_compiled
from assay.native.toolchain import toolchain
from assay.workloads.accuracy import TEN

BATCHES, PASSES = 4, 6
LARGE = 0.1  # of the batch, for pictures of 224 x 224


def prepared(graph: Graph, batch: int, place: Path) -> tuple[Path, Path, Path]:
    """Our own binary, HPVM's, and the folder of data."""
    flow = dataflow(graph)
    images = BATCHES * batch
    random = np.random.default_rng(0).normal(size=(images, *flow.shape)).astype(np.float32)
    data, once = place / "data", place / "once"
    for folder, passes in ((data, PASSES), (once, 1)):
        held = ImageSet(labels=np.zeros(passes * images), parts=(random,) * passes)
        for name in ("test", "tune"):
            write_images(name, held, folder)
    write_weights(flow, data)
    counts = dict.fromkeys(("test", "tune"), PASSES * images)
    src = write_sources(flow, place / "src", data, counts, batch)
    binary = compile_program(src / "approxhpvm_src.cc", src / "HPVM_binary")
    build_models(binary, place)
    return built_model(graph, toolchain()).built.program, binary, once


def own_seconds(program: Path, data: Path, batch: int, threads: int, place: Path) -> float:
    words = [str(program), "--data", str(data), "--batch", str(batch), "--json"]
    words += ["--threads", str(threads), "--outputs", str(place / "own.bin")]
    words += ["--repeat", str(PASSES)]
    ended = subprocess.run(words, cwd=place, capture_output=True, text=True, check=True)
    passes = [float(json.loads(line)["seconds"]) for line in ended.stdout.splitlines()]
    return min(passes) / BATCHES


def hpvm_seconds(binary: Path, threads: int, place: Path) -> float:
    os.environ["ASSAY_OUTPUTS"] = str(place / "hpvm.bin")
    found = run_compiled(binary, (), place, threads=threads)
    if found.status:
        raise SystemExit(found.error)
    return float(np.reshape(found.batches, (-1, BATCHES)).mean(1).min())


def measured(graph: Graph, batch: int, threads: int, rounds: int) -> str:
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-bench-") as folder:
        place = Path(folder)
        own, binary, data = prepared(graph, batch, place)
        logs, times = [], []
        for number in range(rounds):
            order = ("own", "hpvm") if number % 2 else ("hpvm", "own")
            taken = {
                who: own_seconds(own, data, batch, threads, place)
                if who == "own"
                else hpvm_seconds(binary, threads, place)
                for who in order
            }
            logs.append(math.log(taken["hpvm"] / taken["own"]))
            times.append(taken["own"])
        pair = [np.fromfile(place / name, np.float32) for name in ("own.bin", "hpvm.bin")]
        apart = float(np.abs(pair[0] - pair[1][: pair[0].size]).max() / np.abs(pair[0]).max())
    mean = statistics.fmean(logs)
    half = two_sided(0.05, rounds - 1) * statistics.stdev(logs) / math.sqrt(rounds)
    ratio, low, high = (math.exp(mean + side) for side in (0, -half, half))
    return (
        f"{ratio:.3f} [{low:.3f}, {high:.3f}]  own {1e3 * statistics.median(times):.1f} ms a batch "
        f"of {batch}, outputs apart {apart:.1e}"
    )


def main() -> None:
    known = {one.name: one for one in TEN}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("nets", nargs="*", choices=[[], *known], default=[])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    for name in asked.nets or known:
        large = "imagenet" in name
        batch = max(1, round(asked.batch * LARGE)) if large else asked.batch
        graph = with_softmax(captured(name).graph)
        print(f"{name:20} {measured(graph, batch, asked.threads, asked.rounds)}", flush=True)


if __name__ == "__main__":
    main()
