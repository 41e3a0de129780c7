"""HPVM-C against our own binary of the same net: a batch's time and its instructions.

    python benchmarks/hpvm.py                         # time, all ten nets
    python benchmarks/hpvm.py lenet alexnet2 --rounds 9 --batch 50
    python benchmarks/hpvm.py lenet --instructions    # by valgrind: the same on a busy machine
    python benchmarks/hpvm.py alexnet2 --accuracy tuner_confs.txt:conf10   # or all of a file

Both are built from one graph with the same weights, and run over the same random images, one
process after the other, in an order that changes with the round, one thread each. Time is CPU time:
a steady clock that tells that of the process is loaded before both programs, which read it around
each batch. Of a process its quickest batch counts, for others use the machine too. A ratio is that
of a round, HPVM-C over our own; the interval is the 95 % one of the mean of their logarithms.
Both guess their kernels, so that they compute by the same ones; with --choose SECONDS each chooses
by timing them, and what a busy machine does to that is in the ratio too. How far the outputs are
apart is told as a share of the largest.

Instructions are of all that a program does for a batch (reading, computing, judging), as two more
batches make them more. valgrind knows no AVX-512: both are built for any CPU, and take AVX2 there.

--accuracy prints the accuracy of trained weights under configurations: of a compiled model by
HPVM's rule and with corrected samplings (--correct), of HPVM's rule in torch
(tests/native/hpvm/rules.py), and of torch where inputs and results of fp16 layers are rounded to
float16 as well.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np

from assay.measure.compiler.capture import capture_model
from assay.measure.compiler.splits import images
from assay.native.build import build
from assay.native.compile import compile_graph
from assay.native.emit import emit
from assay.native.graph import Array, Graph
from assay.native.hpvm.builder import ModelSettings
from assay.native.hpvm.configs import read_configs, split_config_name
from assay.native.hpvm.frontend import ImageSet, write_images, write_sources, write_weights
from assay.native.hpvm.lowering import dataflow, with_softmax
from assay.native.hpvm.program import build_models, compile_program, execute
from assay.native.knobs.apply import apply_knobs
from assay.native.knobs.from_config import config_knobs, correct_samplings
from assay.native.library import LoadedModel
from assay.native.passes.pipeline import optimize
from assay.native.passes.transposes import take_channels_first
from assay.native.toolchain import toolchain
from assay.stats.student import two_sided
from assay.workloads.accuracy import TEN

BATCHES = 40
LARGE = 0.1  # of the batch and the batches, for images of 224 x 224
MORE = 2  # batches, to count the instructions of
CLOCK = """
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
int clock_gettime(clockid_t which, struct timespec *now) {
    if (which == CLOCK_MONOTONIC) which = CLOCK_PROCESS_CPUTIME_ID;
    return syscall(SYS_clock_gettime, which, now);
}
"""


class Pair(msgspec.Struct, frozen=True):
    """Both programs of a net."""

    own: Path
    hpvm: Path
    place: Path  # the folder of everything, with `one`: the data of one batch
    batch: int
    choose: float

    def own_words(self, repeat: int) -> list[str]:
        words = [str(self.own), "--data", str(self.place / "one"), "--json", "--threads", "1"]
        words += ["--batch", str(self.batch), "--repeat", str(repeat), "--choose", str(self.choose)]
        return [*words, "--outputs", str(self.place / "own.bin")]


def prepared(
    graph: Graph, batch: int, batches: tuple[int, int], place: Path, portable: bool, choose: float
) -> Pair:
    """`batches` of the test set and of the tune set."""
    flow = dataflow(graph)
    images = np.random.default_rng(0).normal(size=(batch, *flow.shape)).astype(np.float32)
    data = place / "data"
    for name, count in zip(("test", "tune"), batches, strict=True):
        held = ImageSet(labels=np.zeros(count * batch), parts=(images,) * count)
        write_images(name, held, data)
    write_images("test", ImageSet(labels=np.zeros(batch), parts=(images,)), place / "one")
    write_weights(flow, data)
    counts = {"test": batches[0] * batch, "tune": batches[1] * batch}
    src = write_sources(flow, place / "src", data, counts, batch)
    settings = ModelSettings(portable=portable)
    binary = compile_program(src / "approxhpvm_src.cc", src / "HPVM_binary", settings)
    build_models(binary, place, settings)
    own = compile_graph(graph, toolchain(portable=portable)).built.program
    os.environ.update(
        ASSAY_OUTPUTS=str(place / "hpvm.bin"), ASSAY_CHOOSE=str(choose), ASSAY_THREADS="1"
    )
    return Pair(own, binary, place, batch, choose)


def own_seconds(pair: Pair, batches: int) -> float:
    ended = subprocess.run(
        pair.own_words(batches), cwd=pair.place, capture_output=True, text=True, check=True
    )
    return min(float(json.loads(line)["seconds"]) for line in ended.stdout.splitlines())


def hpvm_seconds(pair: Pair) -> float:
    found = execute(pair.hpvm, (), pair.place, threads=1)
    if found.status:
        raise SystemExit(found.error)
    return min(found.batches)


def timed(pair: Pair, batches: int, rounds: int) -> str:
    clock = pair.place / "clock.so"
    words = ["cc", "-x", "c", "-", "-shared", "-fPIC", "-o", str(clock)]
    subprocess.run(words, input=CLOCK, text=True, check=True)
    os.environ["LD_PRELOAD"] = str(clock)
    took: dict[str, list[float]] = {"own": [], "hpvm": []}
    for number in range(rounds):
        for who in ("own", "hpvm") if number % 2 else ("hpvm", "own"):
            took[who].append(own_seconds(pair, batches) if who == "own" else hpvm_seconds(pair))
    del os.environ["LD_PRELOAD"]
    logs = [math.log(b / a) for a, b in zip(took["own"], took["hpvm"], strict=True)]
    mean = statistics.fmean(logs)
    half = two_sided(0.05, rounds - 1) * statistics.stdev(logs) / math.sqrt(rounds)
    ratio, low, high = (math.exp(mean + side) for side in (0, -half, half))
    least = [min(times) for times in took.values()]
    pair_of = [np.fromfile(pair.place / name, np.float32) for name in ("own.bin", "hpvm.bin")]
    apart = np.abs(pair_of[0] - pair_of[1][: pair_of[0].size]).max() / np.abs(pair_of[0]).max()
    return (
        f"{ratio:.3f} [{low:.3f}, {high:.3f}], quickest of all {least[1] / least[0]:.3f}; "
        f"own {1e3 * least[0]:.2f} ms of CPU a batch of {pair.batch}, outputs apart {apart:.1e}"
    )


def instructions(words: list[str], folder: Path) -> int:
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    ended = subprocess.run([*tool, *words], cwd=folder, capture_output=True, text=True, check=False)
    found = re.search(r"I\s+refs:\s+([\d,]+)", ended.stderr)
    if ended.returncode or not found:
        raise SystemExit(f"{words[0]} did not run under valgrind:\n{ended.stderr[-1000:]}")
    return int(found[1].replace(",", ""))


def counted(pair: Pair) -> str:
    """The test set has MORE batches than the tune set, which has one."""

    def each(many: list[str], one: list[str]) -> float:
        return (instructions(many, pair.place) - instructions(one, pair.place)) / MORE

    own = each(pair.own_words(1 + MORE), pair.own_words(1))
    hpvm = each([str(pair.hpvm), "-t", "test"], [str(pair.hpvm), "-t", "tune"])
    return f"{hpvm / own:.4f}  own {own / 1e6:.2f} million instructions a batch of {pair.batch}"


def compared(name: str, asked: argparse.Namespace) -> str:
    share = LARGE if "imagenet" in name else 1
    batch, batches = (max(1, round(share * count)) for count in (asked.batch, BATCHES))
    sets = (1 + MORE if asked.instructions else batches, 1)
    graph = with_softmax(capture_model(name).graph)
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-bench-") as folder:
        pair = prepared(graph, batch, sets, Path(folder), asked.instructions, asked.choose)
        return counted(pair) if asked.instructions else timed(pair, batches, asked.rounds)


def accuracies(name: str, spec: str) -> Iterator[str]:
    """A line for each configuration of FILE, or for FILE:NAME."""
    from tests.native.hpvm import rules

    graph = take_channels_first(capture_model(f"{name}:weights=trained").graph)
    data = images(name, "", graph, 1.0, 0)
    inputs, labels = data.test
    best, flow = optimize(graph), dataflow(with_softmax(graph))
    path, only = split_config_name(spec)
    configs = read_configs(path)

    def percent(outputs: Array) -> str:
        return f"{100 * float(np.mean(outputs.argmax(1) == labels)):8.2f}"

    def by_torch(knobs: Mapping[str, int], half: bool) -> Array:
        parts = np.array_split(inputs, max(1, len(inputs) // 500))
        return np.concatenate([rules.outputs(graph, knobs, part, half) for part in parts])

    yield f"{'':10}{'HPVM':>8}{'correct':>9}{'torch':>8}{'fp16':>8}"
    for config in configs.configurations:
        if only and config.name != only:
            continue
        knobs = config_knobs(configs, config, flow, best)
        ours = (
            run_built(apply_knobs(best, each, (data.calibration,)), inputs)
            for each in (knobs, correct_samplings(knobs))
        )
        torch = (by_torch(knobs, half) for half in (False, True))
        yield f"{config.name:10}" + "".join(percent(each) for each in (*ours, *torch))


def run_built(graph: Graph, inputs: Array) -> Array:
    """Outputs of a compiled graph."""
    emitted = emit(graph)
    with tempfile.TemporaryDirectory(prefix="assay-hpvm-bench-") as folder:
        model = LoadedModel(build(emitted, toolchain(), Path(folder)), emitted, 500, 2, seconds=0)
        parts = np.array_split(inputs, max(1, len(inputs) // 500))
        outputs = np.concatenate([model.run(part)[0] for part in parts])
        model.close()
    return outputs


def main() -> None:
    known = {one.name: one for one in TEN}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("nets", nargs="*", choices=[[], *known], default=[])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--choose", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--instructions", action="store_true", help="count them, by valgrind")
    parser.add_argument("--accuracy", metavar="FILE[:NAME]", help="of configurations")
    asked = parser.parse_args()
    for name in asked.nets if asked.accuracy else ():
        print(name, *accuracies(name, asked.accuracy), sep="\n", flush=True)
    if asked.accuracy:
        return
    for name in asked.nets or known:
        print(f"{name:20} {compared(name, asked)}", flush=True)


if __name__ == "__main__":
    main()
