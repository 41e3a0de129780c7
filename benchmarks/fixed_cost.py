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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loops.bare import compared

from assay.native.build import default_cache

HERE = Path(__file__).parents[1]


# The first step is fixed cost; another tells what a case's further steps take.
BARE = """
import os, sys, time
os.environ["KERAS_BACKEND"] = sys.argv[3]
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
print(json.dumps([r.seconds - taken, sum(len(s.values) * s.steps for s in further),
                  r.status if r.status == "ok" else f"{r.status}: {r.reason}"]))
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
            try:
                _print(case, _measured(case, one, checkouts, given))
            except RuntimeError as error:
                print(f"{case}: {error}", flush=True)


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
    case: str, bare: str, checkouts: dict[str, Path], given: argparse.Namespace
) -> dict[str, list[tuple[float, float]]]:
    """Fixed seconds by the clock and of CPU, of each."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("bare", *checkouts)}
    each: list[float] = []  # CPU seconds of a further step
    engine = case.partition("@keras-")[2] or "jax"
    for _ in range(given.rounds):
        for name in ("bare", *random.sample(list(checkouts), len(checkouts))):
            if name == "bare":
                words = [str(HERE / "benchmarks"), bare, engine]
                out, seconds, cpu = _run(BARE, words, HERE, given.gpu)
                wall, again = map(float, out.split()[-2:])
                each.append(again)
                found[name].append((seconds - wall, cpu - again))
            else:
                with tempfile.TemporaryDirectory() as home:
                    out, _, cpu = _run(CASE, [case, home], checkouts[name], given.gpu)
                seconds, steps, status = json.loads(out)
                if status != "ok":
                    raise RuntimeError(f"it ended as {status}")
                found[name].append((seconds, cpu - steps * statistics.median(each)))
    return found


def _run(program: str, words: list[str], checkout: Path, gpu: bool) -> tuple[str, float, float]:
    """What it printed, how long it took, and the CPU seconds of it and its children."""
    before, begun = os.times(), time.monotonic()
    hidden = {} if gpu else {"CUDA_VISIBLE_DEVICES": "", "JAX_PLATFORMS": "cpu"}
    paths = os.pathsep.join(filter(None, (str(checkout), os.environ.get("PYTHONPATH", ""))))
    with _new_models() as cache:
        ran = subprocess.run(
            [sys.executable, "-c", program, *words],
            env={**os.environ, "PYTHONPATH": paths, "XDG_CACHE_HOME": cache, **hidden},
            cwd=checkout,  # python -c looks for assay there first
            capture_output=True,
            text=True,
            check=False,
        )
    if ran.returncode:
        raise RuntimeError(ran.stderr[-600:])
    after = os.times()
    cpu = after.children_user + after.children_system
    return ran.stdout, time.monotonic() - begun, cpu - before.children_user - before.children_system


@contextmanager
def _new_models() -> Iterator[str]:
    """A cache in which native finds its runtime compiled, as every case but the first does, and no
    model."""
    kept = default_cache()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "assay" / "native"
        place.mkdir(parents=True)
        (place / "runtime").symlink_to(kept / "runtime")
        yield folder


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
