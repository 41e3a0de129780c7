"""Tuned networks against float32 and against other int8: speed-ups and losses, in one table.

    python benchmarks/tune.py lenet alexnet --nncf ~/nncf/bin/python -o tuned/

Each net is tuned (`assay tune`, one point of loss; a folder tuned before is taken as it is). Then
every contender has its turn in a fresh process, in rounds whose order is drawn anew: our float32,
the tuned one, our int8 in every layer that can have it, OpenVINO in float32 and int8 (NNCF, in the
environment of `--nncf`, as its versions may not fit ours), ONNX Runtime in float32 and int8
(static, QDQ, per channel), torch in int8 (FX, per channel). All have one thread; the others
calibrate on 300 tune images. A speed-up is the median over rounds of two times of one round; a
loss is of the same test images against our float32, with Tango's 95 % interval.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import numpy as np
import tune_peers

NETS = (
    *("lenet", "alexnet", "alexnet2", "mobilenet-cifar10", "resnet18-cifar10", "vgg16-cifar10"),
)
CONTENDERS = (
    *("fp32", "tuned", "int8", "openvino", "openvino-int8", "onnxruntime", "onnxruntime-int8"),
    "torch-int8",
)
PEERS = ("openvino-int8", "onnxruntime-int8", "torch-int8")
CALIBRATION = 300  # images for the others, as NNCF takes by itself
SECONDS = 1.0  # of a turn
ONE = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
Array = np.ndarray[Any, Any]
Call = Callable[[Array], Array]


def main() -> None:
    asked = _arguments()
    if asked.turn:
        net, contender = asked.turn
        return _turn(asked.output / net, contender, asked.batch, asked.accuracy)
    speed: dict[str, dict[str, float]] = {}
    for net in asked.nets:
        folder = asked.output / net
        peers_ready(net, folder, asked)
        if asked.prepare:
            continue
        tuned_ready(net, folder, asked)
        speed[net] = measured(net, folder, asked)
    for name in CONTENDERS[1:]:
        known = [each[name] for each in speed.values() if name in each]
        if known:
            print(f"geometric mean over {len(known)}: {name} {geometric_mean(known):.2f}")


def peers_ready(net: str, folder: Path, asked: argparse.Namespace) -> None:
    """What every contender needs: the graph, images, and the others' models."""
    import assay
    from assay.measure.compiler.splits import images

    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "test.npz").is_file():
        held = images(net, "", _graph(folder), asked.max_loss, 0)
        calibration = np.concatenate([held.calibration, held.choosing.inputs])[:CALIBRATION]
        np.save(folder / "calibration300.npy", _last(calibration))
        np.savez(folder / "test.npz", inputs=_last(held.test.inputs), labels=held.test.labels)
    if not (folder / "net.onnx").is_file():
        assay.export_onnx(net, folder / "net.onnx", params={"weights": "trained"})
    if not (folder / "onnxruntime-int8.onnx").is_file():
        tune_peers.onnxruntime_int8(folder)
    if asked.nncf and not (folder / "openvino-int8.xml").is_file():
        words = [asked.nncf, "-c", tune_peers.NNCF, str(folder)]
        subprocess.run(words, check=True, env={**os.environ, **ONE})


def tuned_ready(net: str, folder: Path, asked: argparse.Namespace) -> None:
    import assay

    if not (folder / "best.txt").is_file():
        found = assay.tune(net, folder, max_loss=asked.max_loss, batch=asked.batch)
        print(f"{net}: tuned in {found.seconds:.0f} s, {found.stages}", flush=True)


def measured(net: str, folder: Path, asked: argparse.Namespace) -> dict[str, float]:
    """Rounds of turns, then each one's accuracy; the speed-ups over our float32."""
    random = np.random.default_rng(0)
    took: dict[str, list[float]] = {}
    contenders = [name for name in CONTENDERS if _there(folder, name)]
    for _ in range(asked.rounds):
        for name in random.permutation(contenders):
            seconds = _asked_child(net, str(name), asked)
            if seconds:
                took.setdefault(str(name), []).append(float(seconds["seconds"]))
    right = {name: _asked_child(net, name, asked, "--accuracy") for name in took}
    return _table(net, folder, took, {name: each for name, each in right.items() if each})


def _table(
    net: str, folder: Path, took: dict[str, list[float]], right: dict[str, Any]
) -> dict[str, float]:
    from assay.native.tuner.accuracy_loss import loss

    exact = np.array(right["fp32"]["right"])
    speedups = {}
    print(f"\n{net}: {len(took['fp32'])} rounds, batch as tuned, one thread")
    for name, times in took.items():
        ratios = [a / b for a, b in zip(took["fp32"], times, strict=True)]
        speedups[name] = median(ratios)
        lost = loss(exact, np.array(right[name]["right"])) if name in right else None
        said = f"{lost.points:6.2f} [{lost.low:.2f}, {lost.high:.2f}]" if lost else "     ?"
        print(
            f"  {name:18} {median(times) * 1e6:8.1f} us  {speedups[name]:5.2f} times fp32 "
            f"[{min(ratios):.2f}, {max(ratios):.2f}]  lost {said}",
            flush=True,
        )
    _blame(folder)
    return speedups


def _blame(folder: Path) -> None:
    """The layers that take most of the tuned network's time, by what was measured of them."""
    front = json.loads((folder / "front.json").read_text())
    knobs = next(p["knobs"] for p in front["points"] if p["name"] == front["chosen"])
    kinds = {layer["layer"]: layer["seconds"] for layer in front["layers"]}
    spent = {name: took.get(str(knobs.get(name, 11)), took["11"]) for name, took in kinds.items()}
    whole = sum(spent.values())
    for name in sorted(spent, key=lambda n: -spent[n])[:3]:
        share, gain = spent[name] / whole, kinds[name]["11"] / spent[name]
        print(f"    {share:4.0%} of it in {name}: knob {knobs.get(name, 11)}, {gain:.1f} times")


def _asked_child(net: str, name: str, asked: argparse.Namespace, *more: str) -> Any:
    words = [sys.executable, __file__, "-o", str(asked.output), "--batch", str(asked.batch)]
    ended = subprocess.run(
        [*words, "--turn", net, name, *more],
        env={**os.environ, **ONE, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode:
        print(f"{net} {name} failed: {ended.stderr.strip()[-300:]}", file=sys.stderr)
        return None
    return json.loads(ended.stdout.splitlines()[-1])


def _turn(folder: Path, contender: str, batch: int, accuracy: bool) -> None:
    """In a child: one contender, timed or judged."""
    call = CALLS[contender.removesuffix("-int8") if contender in SAME else contender](
        folder, contender, batch
    )
    with np.load(folder / "test.npz") as file:
        inputs, labels = file["inputs"], file["labels"]
    if accuracy:
        count = len(inputs) // batch * batch
        parts = [call(inputs[i : i + batch]) for i in range(0, count, batch)]
        right = np.concatenate(parts).argmax(1) == labels[:count]
        print(json.dumps({"right": right.tolist()}))
        return
    places = [inputs[i : i + batch] for i in range(0, 64 * batch, batch)]
    for items in places[:20]:
        call(items)
    times: list[float] = []
    while sum(times) < SECONDS or len(times) < 30:
        items = places[len(times) % len(places)]
        start = time.perf_counter()
        call(items)
        times.append(time.perf_counter() - start)
    print(json.dumps({"seconds": median(times) / batch}))


def _native(folder: Path, contender: str, batch: int) -> Call:
    from assay.native.build import build
    from assay.native.emit import emit
    from assay.native.knobs.apply import apply_knobs
    from assay.native.knobs.calibration_file import load_items
    from assay.native.knobs.from_config import read_knobs
    from assay.native.knobs.table import knob, why_not
    from assay.native.library import LoadedModel
    from assay.native.passes.pipeline import optimize
    from assay.native.toolchain import toolchain
    from assay.native.tuner.layer_times import INT8, tuned_layers

    graph = _graph(folder)
    best = optimize(graph)
    if contender != "fp32":
        plain = {n.name: INT8 for n in tuned_layers(best) if not why_not(knob(INT8), n, best)}
        knobs = read_knobs(graph, folder / "best.txt") if contender == "tuned" else plain
        best = apply_knobs(best, knobs, load_items(folder / "best.txt", graph))
    emitted = emit(best)
    loaded = LoadedModel(build(emitted, toolchain()), emitted, batch, 1, "auto", 2.0)
    bound: dict[int, tuple[Any, Any]] = {}

    def call(items: Array) -> Array:
        place = items.ctypes.data
        if place not in bound:
            bound[place] = (*loaded.bind(items), items)  # type: ignore[assignment]
        bound[place][0]()
        found: Array = bound[place][1][0].copy()
        return found

    return call


CALLS: dict[str, Callable[[Path, str, int], Call]] = {
    "fp32": _native,
    "tuned": _native,
    "int8": _native,
    "openvino": tune_peers.openvino,
    "onnxruntime": tune_peers.onnxruntime,
    "torch-int8": tune_peers.torch_int8,
}
SAME = ("openvino-int8", "onnxruntime-int8")


def _graph(folder: Path) -> Any:
    """Captured once, as it takes a process with Keras."""
    from assay.measure.compiler.capture import capture_model
    from assay.native import files

    place = folder / "graph.npz"
    if not place.is_file():
        files.write(capture_model(folder.name, params={"weights": "trained"}).graph, place)
    return files.read(place)


def _there(folder: Path, name: str) -> bool:
    return name != "openvino-int8" or (folder / "openvino-int8.xml").is_file()


def _last(items: Array) -> Array:
    return np.ascontiguousarray(np.moveaxis(items, 1, -1))


def _arguments() -> argparse.Namespace:
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("nets", nargs="*", default=NETS)
    words.add_argument("-o", "--output", type=Path, default=Path("tuned"))
    words.add_argument("--nncf", default="", help="a Python that has nncf and openvino")
    words.add_argument("--rounds", type=int, default=5)
    words.add_argument("--batch", type=int, default=1)
    words.add_argument("--max-loss", type=float, default=1.0)
    words.add_argument("--prepare", action="store_true", help="make the others' models, and end")
    words.add_argument("--turn", nargs=2, help=argparse.SUPPRESS)
    words.add_argument("--accuracy", action="store_true", help=argparse.SUPPRESS)
    return words.parse_args()


if __name__ == "__main__":
    main()
