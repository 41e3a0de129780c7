"""assay's figures against loops written by hand, taking turns in one call.

VGG16, ResNet50 and GPT-2 (trained, and generating). Each configuration is measured by a plain
script of its framework (this file, `--one NAME`) and by `assay run`, each in fresh processes, in
turn; printed are both medians and their ratio, and with three rounds or more the ratio's interval.

    python benchmarks/by_hand.py [--only NAME,NAME] [--rounds 3] [--minutes 9] [--json FILE]

NAME is a configuration or the beginning of some: gpt2, generate, resnet50-torch. Rounds go through
all of them, the side that comes first drawn anew each time; --minutes leaves out a pair that
would take longer than is left, so that with too many names there are fewer rounds. --json writes
all that was measured, after each round; --tiny takes networks and times that suit a laptop.
"""

from __future__ import annotations

import argparse
import importlib
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

COMPILED = "precision=bfloat16,data_format=channels_last,compiler=on"
GPT2 = {"layers": 12, "width": 768, "heads": 12, "vocabulary": 50257, "length": 1024}
SMALL = {"layers": 2, "width": 32, "heads": 2, "vocabulary": 100, "length": 32}


class Pace(NamedTuple):
    """How long everything takes."""

    steps: int = 30  # of one sample by hand
    repeats: int = 9
    warmup: float = 3.0  # seconds from the first step
    budget: str = "5s"  # of assay


class Configuration(NamedTuple):
    wish: dict[str, Any]  # what the hand-written loop does
    workload: str  # the same as a case of assay: what, and by which backend
    backend: str


def torch(net: str, workload: str, backend: str, **wish: Any) -> Configuration:
    return Configuration({"frame": "torch", "net": net, **wish}, workload, f"torch:{backend}")


def jax(net: str, workload: str, backend: str = "", **wish: Any) -> Configuration:
    return Configuration(
        {"frame": "jax", "net": net, **wish}, workload, f"jax:{backend}".strip(":")
    )


def keras(net: str, engine: str, workload: str) -> Configuration:
    wish = {"frame": "keras", "net": net, "engine": engine, "policy": "mixed_bfloat16"}
    return Configuration(wish, workload, f"keras-{engine}:precision=bfloat16")


VGG16, RESNET, TRAINED = "vgg16:{pictures}", "resnet50:{pictures}", "transformer-decoder:{text}"
GENERATED = f"{TRAINED},task=generate,{{tokens}}"
CONFIGURATIONS = {
    "gpt2-torch-autocast": torch(
        "gpt2", TRAINED, "precision=bfloat16,compiler=on", autocast=True, compile=True
    ),
    "gpt2-torch-pure": torch(
        "gpt2", TRAINED, "precision=pure-bfloat16,compiler=on", pure=True, compile=True
    ),
    "gpt2-jax": jax("gpt2", TRAINED, "precision=bfloat16", mixed=True),
    "generate-jax": jax("gpt2", GENERATED, "precision=pure-bfloat16", pure=True, generate=True),
    "generate-torch": torch(
        "gpt2",
        GENERATED,
        "precision=pure-bfloat16,cuda_graphs=on",
        pure=True,
        generate=True,
        graph=True,
    ),
    "resnet50-torch-256": torch(
        "resnet50", RESNET, COMPILED, autocast=True, compile=True, batch=256
    ),
    "resnet50-keras-jax-32": keras("resnet50", "jax", RESNET),
    "resnet50-jax-32": jax("resnet50", RESNET, "precision=bfloat16", mixed=True),
    "resnet50-torch-32": torch("resnet50", RESNET, COMPILED, autocast=True, compile=True),
    "torch-float32": torch("vgg16", VGG16, "data_format=channels_first"),
    "torch-tf32": torch(
        "vgg16", VGG16, "precision=tf32,data_format=channels_last", tf32=True, last=True
    ),
    "torch-autocast-compiled": torch(
        "vgg16", VGG16, COMPILED, autocast=True, last=True, compile=True
    ),
    "torch-pure-bfloat16-graph": torch(
        "vgg16",
        VGG16,
        "precision=pure-bfloat16,data_format=channels_last,compiler=on,cuda_graphs=on",
        pure=True,
        last=True,
        compile=True,
        graph=True,
    ),
    "jax-float32": jax("vgg16", VGG16, products="highest"),
    "jax-pure-bfloat16": jax("vgg16", VGG16, "precision=pure-bfloat16", pure=True),
    "keras-jax-bfloat16": keras("vgg16", "jax", VGG16),
    "keras-torch-bfloat16": keras("vgg16", "torch", VGG16),
}
BATCHES = {"vgg16": 16, "resnet50": 32, "gpt2": 8}


def sizes(wish: dict[str, Any], tiny: bool) -> dict[str, int]:
    """What the hand-written loop is given."""
    net = wish["net"]
    batch = 2 if tiny else wish.get("batch", BATCHES[net])
    if net == "gpt2":
        tokens = {"prompt": 4, "generated": 5} if tiny else {"prompt": 32, "generated": 64}
        return {"batch": batch, **(SMALL if tiny else GPT2), **tokens}
    # Keras applications have one width
    narrower = 8 if tiny and wish["frame"] != "keras" else 1
    return {"batch": batch, "image": 32 if tiny else 224, "narrower": narrower}


def case(one: Configuration, tiny: bool) -> str:
    """The same for assay. A tiny one is not compiled by torch, nor captured: that takes minutes."""
    given = sizes(one.wish, tiny)
    narrower = given.get("narrower", 1) if one.wish["net"] == "resnet50" else 1
    workload = one.workload.format(
        pictures=f"batch_size={given['batch']},image_size={given.get('image')}"
        + (f",narrower={narrower}" if narrower > 1 else ""),
        text=",".join(
            f"{'batch_size' if name == 'batch' else name}={value}"
            for name, value in given.items()
            if name not in {"prompt", "generated"}
        ),
        tokens=f"prompt={given.get('prompt')},generated={given.get('generated')}",
    )
    backend = one.backend
    if tiny and backend.startswith("torch"):
        backend = backend.replace(",compiler=on", "").replace(",cuda_graphs=on", "")
    return f"{workload}@{backend}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--only", default="", help="the same as NAMEs, joined by commas")
    parser.add_argument("--json", metavar="FILE", help="write what was measured there")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--one", choices=CONFIGURATIONS, help="time this loop by hand, here")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.tiny)))
        return
    asked = [*given.names, *filter(None, given.only.split(","))]
    if unknown := [name for name in asked if not _beginning(name)]:
        parser.error(f"no configuration begins so: {' '.join(unknown)}")
    chosen = [name for name in CONFIGURATIONS if not asked or name.startswith(tuple(asked))]
    table(pairs(chosen, given))


def _beginning(text: str) -> list[str]:
    return [name for name in CONFIGURATIONS if name.startswith(text)]


def pairs(names: list[str], given: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    """Round by round, until the rounds or the time are spent."""
    end = time.monotonic() + 60 * given.minutes
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    lasted: dict[str, float] = {}
    for _ in range(given.rounds):
        for name in names:
            start = time.monotonic()
            if start + lasted.get(name, 0.0) > end:
                print(f"{name}: left out, the time is nearly spent", flush=True)
                continue
            try:
                taken[name].append(pair(name, given.tiny))
            except RuntimeError as error:
                print(f"{name}: {error}", flush=True)
                continue
            lasted[name] = time.monotonic() - start
            hand, lab = (1e3 * seconds for seconds in taken[name][-1])
            print(f"{name}: {hand:.3f} ms by hand, {lab:.3f} ms ({lasted[name]:.0f} s)", flush=True)
        if given.json:
            Path(given.json).write_text(json.dumps(summary(taken), indent=1) + "\n")
    return taken


def pair(name: str, tiny: bool) -> tuple[float, float]:
    """Seconds of a step, by hand and by assay; who is first is drawn."""
    found = {side.__name__: side(name, tiny) for side in random.sample((by_hand, by_assay), 2)}
    return found["by_hand"], found["by_assay"]


def summary(taken: dict[str, list[tuple[float, float]]]) -> list[dict[str, Any]]:
    return [
        {
            "configuration": name,
            "case": case(CONFIGURATIONS[name], tiny=False),
            "by_hand_s": [hand for hand, _ in found],
            "assay_s": [lab for _, lab in found],
            "ratios": (ratios := [lab / hand for hand, lab in found]),
            "ratio": statistics.median(ratios),
            "interval": interval(ratios),
        }
        for name, found in taken.items()
        if found
    ]


def table(taken: dict[str, list[tuple[float, float]]]) -> None:
    print("| configuration | by hand | assay | assay / by hand | interval | each round |")
    print("|---|---:|---:|---:|---|---|")
    for name, found in taken.items():
        if not found:
            continue
        hand, lab = (1e3 * statistics.median(side) for side in zip(*found, strict=True))
        ratios = [mine / theirs for theirs, mine in found]
        each = " ".join(f"{ratio:.3f}" for ratio in ratios)
        middle = statistics.median(ratios)
        said = "{:.3f} to {:.3f}".format(*bounds) if (bounds := interval(ratios)) else ""
        cells = (name, f"{hand:.3f} ms", f"{lab:.3f} ms", f"{middle:.3f}", said, each)
        print(f"| {' | '.join(cells)} |")


def interval(ratios: list[float]) -> tuple[float, float] | None:
    """95 % by Student's t, of the rounds' ratios; nothing of fewer than three."""
    if len(ratios) < 3:
        return None
    from assay.analysis.intervals import student

    half = student(len(ratios) - 1) * statistics.stdev(ratios) / len(ratios) ** 0.5
    middle = statistics.mean(ratios)
    return middle - half, middle + half


def by_hand(name: str, tiny: bool) -> float:
    engine = CONFIGURATIONS[name].wish.get("engine", "jax")
    variables = os.environ | {"KERAS_BACKEND": engine, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    words = ["--one", name, *(["--tiny"] if tiny else [])]
    out = output_of([sys.executable, __file__, *words], variables)
    return float(json.loads(out.splitlines()[-1]))


def by_assay(name: str, tiny: bool) -> float:
    with tempfile.TemporaryDirectory() as home:
        words = ["run", case(CONFIGURATIONS[name], tiny), "--format", "json", "--home", home]
        words += ["--budget", pace(tiny).budget]
        code = "from assay.cli import main; main()"
        out = output_of([sys.executable, "-c", code, *words], dict(os.environ))
    (result,) = json.loads(out)["results"]
    if result["status"] != "ok":
        raise RuntimeError(f"{result['status']}: {result['reason']}")
    return float(result["summary"]["step_time"]["value"])


def output_of(words: list[str], variables: dict[str, str]) -> str:
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise RuntimeError(done.stderr[-600:])
    return done.stdout


def pace(tiny: bool) -> Pace:
    return Pace(steps=2, repeats=3, warmup=0.1, budget="0.5s") if tiny else Pace()


def one(name: str, tiny: bool) -> float:
    """Median seconds of a step of the loop written by hand."""
    wish, how = CONFIGURATIONS[name].wish, pace(tiny)
    if tiny:
        wish = {**wish, "compile": False, "graph": False}
    loop = importlib.import_module(f"loops.{wish['frame']}_{wish['net']}")
    step, wait = loop.make(wish, **sizes(wish, tiny))
    begun, taken = time.perf_counter(), []
    while time.perf_counter() - begun < how.warmup:  # a device that has just begun is fast
        wait(step())
    for _ in range(how.repeats):
        start = time.perf_counter()
        for _ in range(how.steps):
            last = step()
        wait(last)
        taken.append((time.perf_counter() - start) / how.steps)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
