"""Compiled models against every other way to infer them here: interleaved, outputs compared.

    python benchmarks/native.py                # seven nets, batch 1 and 64, 1 and 2 threads
    python benchmarks/native.py alexnet2 lenet --batch 1 --threads 1 --rounds 20

Each cell is a heat as in `assay race`: every contender warm in a process of its own, standing still
while others step; in a round each has a turn, in an order drawn anew. The number is the contender's
median over its turns divided by native's: above 1, native is faster. The weights are those by seed,
or the trained ones where $ASSAY_DATA has them, and are the same for all; outputs have to agree
within 1e-4.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import numpy as np

from assay.core.records import Procedure, Result
from assay.engine import plan
from assay.engine.racer import HeatEntry
from assay.engine.turns import Heat, run_heat
from assay.stores.folders import CasePlace

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
PROCEDURE = Procedure(budget=4.0, timeout=3600)  # a warm-up of about a second
TOLERANCE = 1e-4


def main() -> None:
    asked = _arguments()
    print("| net | batch | threads |", " | ".join(OTHERS), "| best / native | native, ms |")
    print("|---" * (len(OTHERS) + 5) + "|", flush=True)
    for net in asked.nets:
        for batch in asked.batch:
            for threads in asked.threads:
                with tempfile.TemporaryDirectory() as folder:
                    heat = _heat(net, batch, threads, asked, Path(folder))
                _check_outputs(heat)
                _show(f"| {net} | {batch} | {threads} |", heat.results)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("nets", nargs="*", default=NETS)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--weights", default="", help="trained: those beside $ASSAY_DATA")
    parser.add_argument("--only", nargs="+", default=list(OTHERS), help="of the others")
    return parser.parse_args()


def _heat(net: str, batch: int, threads: int, asked: argparse.Namespace, folder: Path) -> Heat:
    entries = []
    for name in ("native", *asked.only):
        backend = OTHERS.get(name, name)
        joint = "," if ":" in backend else ":"
        weights = f",weights={asked.weights}" if asked.weights else ""
        text = f"{net}:batch_size={batch}{weights}@{backend}{joint}mode=infer,threads={threads}"
        place = folder / name
        place.mkdir()
        entries.append(
            HeatEntry(name, plan.resolve(plan.parse_case(text)), CasePlace(f"run/{name}", place))
        )
    return run_heat(
        entries,
        PROCEDURE,
        lambda _: None,
        lambda turns, _: len(next(iter(turns.values()))) < asked.rounds,
        seed=batch + threads,
    )


def _check_outputs(heat: Heat) -> None:
    own = np.array(heat.outputs["native"].values)
    for name, given in heat.outputs.items():
        outputs = np.array(given.values)
        apart = float(np.abs(outputs - own).max())
        assert apart <= TOLERANCE * max(1.0, float(np.abs(outputs).max())), (name, apart)


def _show(title: str, results: Mapping[str, Result]) -> None:
    times = {name: _time(result) for name, result in results.items() if result.status == "ok"}
    ratios = {name: times[name] / times["native"] for name in OTHERS if name in times}
    cells = [f"{ratios[name]:.2f}" if name in ratios else "" for name in OTHERS]
    best = f"{min(ratios.values(), default=float('nan')):.2f}"
    print(title, " | ".join(cells), f"| {best} | {times['native'] * 1e3:.3f} |")
    for name, result in results.items():
        if result.status != "ok":
            print(f"<!-- {name}: {result.status}: {result.reason} -->")
    facts = results["native"].facts
    print(f"<!-- {facts['kernels']}; {facts['images_at_once']} at once -->", flush=True)


def _time(result: Result) -> float:
    """Seconds of a step: the median of the turns' medians."""
    return median(median(part.values) for part in result.samples if part.phase == "steady")


if __name__ == "__main__":
    main()
