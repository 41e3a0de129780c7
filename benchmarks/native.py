"""Compiled models against every other way to infer them here: interleaved, outputs compared.

    python benchmarks/native.py                # seven nets, batch 1 and 64, 1 and 2 threads
    python benchmarks/native.py alexnet2 lenet --batch 1 --threads 1 --rounds 20

Each contender is a worker of `assay run`, opened once and stopped while others step; a round lets
each step for a while, in an order drawn anew. The number is the contender's median over rounds
divided by native's: above 1, native is faster. The weights are those by seed, or the trained ones
where $ASSAY_DATA has them, and are the same for all; outputs have to agree within 1e-4.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from assay import plan, protocol
from assay.child import Child
from assay.errors import AssayError, EndingError

NETS = ("lenet", "alexnet", "alexnet2", "vgg16-cifar10", "mobilenet-cifar10", "resnet18-cifar10")
NETS += ("resnet50-imagenet",)
OTHERS = {
    "torch": "torch:compiler=off",
    "torch.compile": "torch:compiler=on",
    "tensorflow": "keras-tensorflow:compiler=off",
    "jax": "keras-jax:compiler=on",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
}
TURN = 0.15  # seconds of stepping in a turn
TOLERANCE = 1e-4


class Runner(NamedTuple):
    name: str
    child: Child
    facts: dict[str, Any]


def main() -> None:
    asked = _arguments()
    print("| net | batch | threads |", " | ".join(OTHERS), "| best / native | native, ms |")
    print("|---" * (len(OTHERS) + 5) + "|", flush=True)
    for net in asked.nets:
        for batch in asked.batch:
            for threads in asked.threads:
                _compare(net, batch, threads, asked)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("nets", nargs="*", default=NETS)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--weights", default="", help="trained: those beside $ASSAY_DATA")
    parser.add_argument("--only", nargs="+", default=list(OTHERS), help="of the others")
    return parser.parse_args()


def _compare(net: str, batch: int, threads: int, asked: argparse.Namespace) -> None:
    contenders = {"native": "native"} | {name: OTHERS[name] for name in asked.only}
    with ExitStack() as stack:
        runners = []
        for name, backend in contenders.items():
            joint = "," if ":" in backend else ":"
            weights = f",weights={asked.weights}" if asked.weights else ""
            text = f"{net}:batch_size={batch}{weights}@{backend}{joint}mode=infer,threads={threads}"
            try:
                runners.append(stack.enter_context(_opened(name, text)))
            except (AssayError, EndingError) as error:
                print(f"{text}: {error}", flush=True)
        _check_outputs(runners)
        _show(net, batch, threads, _raced(runners, asked.rounds), runners[0].facts)


@contextmanager
def _opened(name: str, text: str) -> Iterator[Runner]:
    case = plan.resolve(plan.parse_case(text))
    with (
        tempfile.TemporaryDirectory() as folder,
        Child(case, Path(folder), timeout=3600) as child,
    ):
        (opened,) = child.ask(protocol.Open(case=case))
        assert isinstance(opened, protocol.Opened)
        list(child.ask(protocol.Take(steps=1, count=3, seconds=60)))  # compiles, warms up
        child.stand_still()
        yield Runner(name, child, opened.facts)


def _check_outputs(runners: list[Runner]) -> None:
    found = {runner.name: _outputs(runner.child) for runner in runners}
    for name, outputs in found.items():
        apart = float(np.abs(outputs - found["native"]).max())
        assert apart <= TOLERANCE * max(1.0, float(np.abs(outputs).max())), (name, apart)


def _outputs(child: Child) -> Any:
    child.wake()
    (given,) = child.ask(protocol.Outputs())
    child.stand_still()
    assert isinstance(given, protocol.Given)
    return np.array(given.values).reshape(given.shape)


def _raced(runners: list[Runner], rounds: int) -> dict[str, list[float]]:
    """Seconds of a step in each round: the median of a turn."""
    found: dict[str, list[float]] = {runner.name: [] for runner in runners}
    for _ in range(rounds):
        for runner in random.sample(runners, len(runners)):
            runner.child.wake()
            list(runner.child.ask(protocol.Take(steps=1, count=1, seconds=60)))  # caches
            (taken,) = runner.child.ask(protocol.Take(steps=1, count=2000, seconds=TURN))
            runner.child.stand_still()
            assert isinstance(taken, protocol.Taken)
            found[runner.name].append(median(taken.seconds))
    return found


def _show(
    net: str, batch: int, threads: int, found: dict[str, list[float]], facts: dict[str, Any]
) -> None:
    own = median(found["native"])
    ratios = {name: median(found[name]) / own for name in OTHERS if name in found}
    cells = [f"{ratios[name]:.2f}" if name in ratios else "" for name in OTHERS]
    best = f"{min(ratios.values(), default=float('nan')):.2f}"
    print(f"| {net} | {batch} | {threads} |", " | ".join(cells), f"| {best} | {own * 1e3:.3f} |")
    print(f"<!-- {facts['kernels']}; {facts['images_at_once']} at once -->", flush=True)


if __name__ == "__main__":
    main()
