"""Compiled models against ONNX Runtime, OpenVINO and torch.compile: twelve nets, taking turns.

    python benchmarks/native.py                              # all 48 cells, about half an hour
    python benchmarks/native.py lenet MobileNetV2 --batch 1 --threads 1 --rounds 40
    python benchmarks/native.py --minutes 9                  # go on where the last call stopped
    python benchmarks/native.py --show                       # what is kept, and nothing more

A cell is a net, a batch and a number of threads: a heat as in `assay race`, every contender warm in
a process of its own, standing still while others step; in a round each has a turn, in an order
drawn anew. A ratio is the contender's time over native's, round by round, with its 95 % interval:
above 1, native is faster. Beside it stands the ratio of the fastest steps, which other programs
disturb least. Outputs have to agree within 1e-4 of the largest. Each cell is a line of
the output file as soon as it is done, and cells that are there are not measured again.

Weights are the trained ones where $ASSAY_DATA has them, else drawn from a seed, and the same for
all. No installation is needed: keras with any engine, onnxruntime, openvino and assay's own three
dependencies may be unpacked folders on PYTHONPATH, oneDNN one that DNNLROOT names. Who is not there
is left out of the cells, and told.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import numpy as np

from assay.core import registry
from assay.core.case_text import parse_case
from assay.core.executor import CaseDir
from assay.core.records import Procedure, Result
from assay.measure import plan
from assay.measure.case import OUT_OF_TIME, HeatEntry
from assay.measure.heat import Heat, run_heat
from assay.measure.shared_cache import NAME as SHARED_CACHE
from assay.stats.paired_ratio import FASTEST, INTERLEAVED, pair_ratio, turns
from assay.workloads.accuracy import AccuracyWorkload
from assay.workloads.models.eval_data import weights_file

TRAINED = ("lenet", "alexnet", "alexnet2", "vgg16-cifar10", "mobilenet-cifar10", "resnet18-cifar10")
APPLICATIONS = ("MobileNetV2", "EfficientNetV2B0", "DenseNet121", "Xception", "ConvNeXtTiny")
NETS = (*TRAINED, "resnet50-imagenet", *APPLICATIONS)

OTHERS = {
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "torch.compile": "torch:compiler=on",
    "torch": "torch:compiler=off",
    "tensorflow": "keras-tensorflow:compiler=off",
    "jax": "keras-jax:compiler=on",
}
ASKED = ("onnxruntime", "openvino", "torch.compile")
PROCEDURE = Procedure(budget=4.0, timeout=1800)  # a warm-up of about a second
TOLERANCE = 1e-4
NORMAL = 1.96
ENOUGH = 5  # rounds, where the time is up


class Ratio(msgspec.Struct, frozen=True):
    """A contender's time over native's."""

    ratio: float
    low: float
    high: float


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the output file."""

    net: str
    batch: int
    threads: int
    weights: str
    rounds: int
    ratios: dict[str, Ratio]
    fastest: dict[str, float] = {}  # the same ratios of the fastest steps of each process
    left_out: dict[str, str]  # why, of who is not in it
    milliseconds: float  # of native
    kernels: str
    images_at_once: int
    cpu: str

    @property
    def best(self) -> Ratio:
        """Against the fastest of the others."""
        return min(self.ratios.values(), key=lambda each: each.ratio)


def main() -> None:
    asked = _arguments()
    if not asked.show:
        for cell in _measured(asked):
            with open(asked.output, "ab") as file:
                file.write(msgspec.json.encode(cell) + b"\n")
            print(_line(cell, asked.only), flush=True)
    _show(_kept(asked.output), asked)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("nets", nargs="*", default=NETS, metavar="NET", help=", ".join(NETS))
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", nargs="+", default=list(ASKED), choices=list(OTHERS))
    parser.add_argument("--minutes", type=float, default=math.inf, help="no cell is begun after")
    parser.add_argument("--output", default="native-figures.jsonl", help="a line for each cell")
    parser.add_argument("--show", action="store_true", help="the table of the output file only")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.nets) - set(NETS)):
        parser.error(f"there is no net {unknown[0]}: {', '.join(NETS)}")
    return asked


def _kept(output: str) -> list[Cell]:
    path = Path(output)
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [msgspec.json.decode(line, type=Cell) for line in lines]


def _measured(asked: argparse.Namespace) -> Iterator[Cell]:
    """Those that are not kept yet, until the time is up."""
    begun, longest = time.monotonic(), 0.0
    end = begun + 60 * asked.minutes
    done = {(cell.net, cell.batch, cell.threads) for cell in _kept(asked.output)}
    for net in asked.nets:
        with tempfile.TemporaryDirectory(prefix="assay-native-") as folder:
            (Path(folder) / SHARED_CACHE).mkdir()
            for batch, threads in itertools.product(asked.batch, asked.threads):
                if (net, batch, threads) in done:
                    continue
                start = time.monotonic()
                if start + longest > end:
                    return
                heat = _heat(_entries(net, batch, threads, asked, Path(folder)), asked.rounds, end)
                if _out_of_time(heat):
                    return
                longest = max(longest, time.monotonic() - start)
                yield _cell(net, batch, threads, heat)


def _out_of_time(heat: Heat) -> bool:
    return any(result.reason == OUT_OF_TIME for result in heat.results.values())


def _entries(
    net: str, batch: int, threads: int, asked: argparse.Namespace, folder: Path
) -> list[HeatEntry]:
    entries = []
    for name in ("native", *asked.only):
        text = _case(net, batch, threads, name)
        place = folder / f"{name}-{batch}-{threads}"
        place.mkdir()
        case = plan.resolve(parse_case(text))
        entries.append(HeatEntry(name, case, CaseDir(f"run/{name}", place)))
    return entries


def _case(net: str, batch: int, threads: int, contender: str) -> str:
    backend = OTHERS.get(contender, contender)
    workload, more = net, ",weights=trained" if _weights(net) == "trained" else ""
    if net in APPLICATIONS:
        workload = str(Path(__file__).parent / f"native_nets.py:{net}")
        if backend.startswith("torch:"):
            workload = str(Path(__file__).parent / "native_torch.py:application")
            more = f",net={net}"
    joint = "," if ":" in backend else ":"
    return f"{workload}:batch_size={batch}{more}@{backend}{joint}mode=infer,threads={threads}"


def _weights(net: str) -> str:
    workload = registry.workload(net) if net not in APPLICATIONS else None
    found = isinstance(workload, AccuracyWorkload) and weights_file(workload, "trained")
    return "trained" if found else "seeded"


def _heat(entries: list[HeatEntry], rounds: int, end: float) -> Heat:
    def keep_going(heat: Heat) -> bool:
        taken = min(len(each) for each in heat.turns.values())
        return taken < (rounds if time.monotonic() < end else ENOUGH)

    limited = [entry._replace(deadline=end) for entry in entries]
    return run_heat(limited, PROCEDURE, lambda _: None, keep_going)


def _cell(net: str, batch: int, threads: int, heat: Heat) -> Cell:
    results = {name: _in_turns(result) for name, result in heat.results.items()}
    native = results["native"]
    if native.status != "ok":
        raise SystemExit(f"{net}: native: {native.status}: {native.reason}")
    _check_outputs(heat)
    found = {name: result for name, result in results.items() if name != "native"}
    times = turns(native, "step_time")
    return Cell(
        net=net,
        batch=batch,
        threads=threads,
        weights=_weights(net),
        rounds=len(times),
        ratios={name: r for name, result in found.items() if (r := _ratio(native, result))},
        left_out={n: f"{r.status}: {r.reason}" for n, r in found.items() if r.status != "ok"},
        fastest={n: p.ratio for n, r in found.items() if (p := pair_ratio(native, r, FASTEST))},
        milliseconds=float(np.median(times)) * 1e3,
        kernels=str(native.facts["kernels"]),
        images_at_once=int(native.facts["images_at_once"]),
        cpu=_cpu(),
    )


def _in_turns(result: Result) -> Result:
    """Told to be compared round by round: what slows the machine down then slows down both."""
    return msgspec.structs.replace(result, tags={**result.tags, "order": INTERLEAVED})


def _check_outputs(heat: Heat) -> None:
    own = np.array(heat.outputs["native"].values)
    for name, given in heat.outputs.items():
        outputs = np.array(given.values)
        apart = float(np.abs(outputs - own).max())
        assert apart <= TOLERANCE * float(np.abs(outputs).max()), (name, apart)


def _ratio(native: Result, other: Result) -> Ratio | None:
    found = pair_ratio(native, other, "step_time")
    if not found:
        return None
    reach = math.exp(NORMAL * found.error)
    return Ratio(found.ratio, found.ratio / reach, found.ratio * reach)


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "")


def _show(cells: list[Cell], asked: argparse.Namespace) -> None:
    print("\n| net | batch | threads |", " | ".join(asked.only), "| best / native | fastest |")
    print("|---" * (len(asked.only) + 5) + "|")
    for cell in cells:
        print(_line(cell, asked.only))
    for title, chosen in _GROUPS.items():
        ratios = [cell.best.ratio for cell in cells if cell.ratios and chosen(cell)]
        if ratios:
            mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
            print(f"\n{title}: geometric mean of best / native {mean:.3f} over {len(ratios)} cells")
        steps = [min(cell.fastest.values()) for cell in cells if cell.fastest and chosen(cell)]
        if steps:
            mean = math.exp(sum(map(math.log, steps)) / len(steps))
            print(f"of the fastest steps {mean:.3f} over {len(steps)} cells")
    below = [cell for cell in cells if cell.ratios and cell.best.high < 1]
    print(f"cells whose whole interval is below 1: {len(below)}")
    for name, why in sorted({pair for cell in cells for pair in cell.left_out.items()}):
        print(f"left out: {name}: {why}")


_GROUPS: dict[str, Callable[[Cell], bool]] = {
    "all": lambda cell: True,
    "nets with trained weights": lambda cell: cell.net in TRAINED,
}


def _line(cell: Cell, only: list[str]) -> str:
    ratios = [_text(cell.ratios.get(name)) for name in only]
    best = _text(cell.best if cell.ratios else None)
    fastest = f"{min(cell.fastest.values()):.2f}" if cell.fastest else ""
    texts = (cell.net, str(cell.batch), str(cell.threads), *ratios, best, fastest)
    return f"| {' | '.join(texts)} |"


def _text(ratio: Ratio | None) -> str:
    return f"{ratio.ratio:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]" if ratio else ""


if __name__ == "__main__":
    main()
