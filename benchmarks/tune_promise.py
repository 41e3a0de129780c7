"""How often `assay tune` keeps its promise: one net, a pool of configurations, resampled.

    python benchmarks/tune_promise.py alexnet2 -o promise/

The pool is what a search would confirm for losses between 0.1 and 6 points, with neighbours that
differ in a layer. The outputs of each on all tune and test images are computed once. Then a
tuning is repeated from there: images to choose by and to confirm by are drawn with replacement,
in the numbers a tuning has, points are chosen on the former and tested on the latter, as `assay
tune` does. The truth is known: it is the loss over all images that were drawn from. A promise
is broken if the chosen point loses more than was allowed. Beside it: how often the fastest point
whose loss on the choosing images is small enough, without a test, would break it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from assay.commands.tune.request import TuneRequest
from assay.commands.tune.tuner import PreparedTuning, Stages, Tuner, knobs_of
from assay.measure.compiler.splits import SELECTION_SHARE
from assay.native.toolchain import toolchain
from assay.native.tuner.accuracy_loss import fastest_safe, loss
from assay.native.tuner.search import Predicted, Tune, front, search
from assay.native.tuner.validate import FrontProgram, spread
from assay.stats.accuracy import wilson

TARGETS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.5, 6.0)
ALLOWED = (0.25, 0.5, 1.0, 2.0)  # points
Flags = np.ndarray[Any, Any]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("net", nargs="?", default="alexnet2")
    words.add_argument("-o", "--output", type=Path, default=Path("promise"))
    words.add_argument("--pool", type=int, default=24)
    words.add_argument("--repeats", type=int, default=2000)
    asked = words.parse_args()
    asked.output.mkdir(parents=True, exist_ok=True)
    kept = asked.output / f"{asked.net}-pool.npz"
    if not kept.is_file():
        np.savez(kept, **pool(asked.net, asked.output, asked.pool))
    with np.load(kept) as file:
        right, seconds = file["right"], file["seconds"]
    truth = [loss(right[0], each).points for each in right]
    print(f"{asked.net}: {len(right)} configurations, {right.shape[1]} pictures")
    print(f"true losses from {min(truth):.2f} to {max(truth):.2f} points")
    shares = [repeated(right, seconds, truth, allowed, asked.repeats) for allowed in ALLOWED]
    _drawn(asked.net, shares, asked.output / f"{asked.net}-promise.svg")


def pool(net: str, folder: Path, count: int) -> dict[str, Any]:
    """Whether each configuration is right about each image, and its time as predicted."""
    request = TuneRequest(model=net, output=str(folder / net), max_loss=1.0)
    tuner = Tuner(request, toolchain(), Stages(net, request.budget, print_note))
    with tempfile.TemporaryDirectory() as place:
        held = tuner.prepare(net, False, Path(place))
        chosen = _choices(held.tune, count)
        built = tempfile.mkdtemp(dir=place)
        program = FrontProgram(
            held.graph,
            [knobs_of(held.tune, one.choice) for one in chosen],
            held.calibration,
            tuner.tools,
            Path(built),
        )
        right = _right(program, held)
    held.state.close()
    return {"right": right, "seconds": np.array([one.seconds for one in chosen])}


def repeated(
    right: Flags, seconds: Flags, truth: list[float], allowed: float, repeats: int
) -> tuple[float, float, float, float]:
    """The share of promises that were kept, with its interval, and that without a test."""
    random = np.random.default_rng(0)
    whole = right.shape[1] // 2 - 64
    few, many = round(SELECTION_SHARE * whole), whole - round(SELECTION_SHARE * whole)
    kept = naive = 0
    gains = []
    for _ in range(repeats):
        seen, others = (random.integers(0, right.shape[1], size) for size in (few, many))
        losses = [loss(right[0][seen], each[seen]).points for each in right]
        predicted = [
            Predicted((i,), s, p) for i, (s, p) in enumerate(zip(seconds, losses, strict=True))
        ]
        within = [one for one in front(predicted) if one.points <= allowed]
        order = [0, *(one.choice[0] for one in spread(within) if one.choice[0])]
        tested = [loss(right[0][others], right[i][others]) for i in order]
        best = order[max(fastest_safe(tested, allowed), 1) - 1]
        kept += truth[best] <= allowed
        naive += truth[within[-1].choice[0]] <= allowed if within else 1
        gains.append(seconds[0] / seconds[best])
    low, high = wilson(kept, repeats)
    print(
        f"at most {allowed:g} points: kept in {kept / repeats:.2%} of {repeats} tunings "
        f"[{low:.2%}, {high:.2%}], {np.median(gains):.2f} times as fast by prediction; without a "
        f"test {naive / repeats:.2%}",
        flush=True,
    )
    return kept / repeats, low, high, naive / repeats


def print_note(progress: Any) -> None:
    print(progress.note, flush=True)


def _choices(tune: Tune, count: int) -> list[Predicted]:
    """The exact one first; then those of searches, and neighbours of these."""
    found = {one.choice: one for target in TARGETS for one in search(tune, target)}
    exact = tune.predict([0] * len(tune.layers))
    random = np.random.default_rng(1)
    bases = [one for one in found.values() if 0 < one.points < max(TARGETS)]
    while len(found) < 4 * count and bases:
        choice = list(bases[random.integers(len(bases))].choice)
        place = int(random.integers(len(choice)))
        choice[place] = int(random.integers(len(tune.layers[place].tried)))
        found[tuple(choice)] = tune.predict(choice)
    others = [o for o in found.values() if o.choice != exact.choice and o.points < max(TARGETS)]
    others.sort(key=lambda one: one.points)
    places = np.unique(np.linspace(0, len(others) - 1, count - 1).round().astype(int))
    return [exact, *(others[place] for place in places)]


def _right(program: FrontProgram, held: PreparedTuning) -> Flags:
    sets = (held.splits.choosing, held.splits.confirming, held.splits.test)
    parts = []
    for number, each in enumerate(sets):
        outputs = program.outputs(f"pool{number}", each.inputs, held.state, 2)
        parts.append([out.argmax(1) == each.labels for out in outputs])
    return np.concatenate([np.array(part) for part in parts], axis=1)


def _drawn(net: str, shares: list[tuple[float, float, float, float]], path: Path) -> None:
    from assay.reporting.figure import COLORS, new_figure

    drawn = new_figure(3.5)
    axis = drawn.subplots()
    places = range(len(ALLOWED))
    kept = [100 * share[0] for share in shares]
    reach = [[100 * (s[0] - s[1]) for s in shares], [100 * (s[2] - s[0]) for s in shares]]
    axis.errorbar(places, kept, reach, fmt="o", color=COLORS["steady"], label="assay tune")
    naive = [100 * share[3] for share in shares]
    axis.plot(places, naive, "x", color=COLORS["first"], label="without a test")
    axis.axhline(95, color=COLORS["warmup"], linestyle=":", label="as promised")
    axis.set_xticks(list(places), [f"{each:g}" for each in ALLOWED])
    axis.set_xlabel("points that may be lost")
    axis.set_ylabel("promises kept (%)")
    axis.set_title(f"{net}: tunings over resampled pictures", loc="left")
    axis.legend(frameon=False)
    drawn.savefig(path)


if __name__ == "__main__":
    main()
