"""The most promising choices, measured as whole networks: loss, time, memory, energy."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from msgspec.structs import replace

from assay.native.graph import Array, Graph
from assay.native.knobs.apply import Calibration, applied
from assay.native.knobs.table import BASELINE, KNOBS
from assay.native.run_program import write_items
from assay.native.toolchain import Toolchain
from assay.native.tuner.accuracy_loss import Loss, bound, fastest_safe, loss
from assay.native.tuner.candidates import weight_bytes
from assay.native.tuner.interactions import Choice
from assay.native.tuner.records import Labelled, LossInterval, Objective, TunedPoint, TunePictures
from assay.native.tuner.search import Predicted, Tune, front, search
from assay.native.tuner.state import TuningState
from assay.native.variants import Variants, build_variants
from assay.stats.accuracy import wilson
from assay.stats.sequential import FEWEST, interval

MOST = 8  # points that are measured, the exact one among them
TARGETS = (1.0, 0.75, 0.5, 0.3, 0.15)  # of the loss that is allowed
REFINED = (1.5, 0.75)  # of the loss that is allowed: what predictions are refined by
CHOOSING = 0.5  # seconds for choosing kernels
PASS = 0.3  # seconds of a timed pass
ROUNDS = 10
NARROW = 0.03  # half-width of a speed-up's interval, which is enough

Knobs = Mapping[str, int]


def to_confirm(tune: Tune, max_loss: float) -> tuple[Predicted, ...]:
    """Of the choices predicted to lose little enough, some, from the safest to the fastest."""
    found = {one.choice: one for share in TARGETS for one in search(tune, share * max_loss)}
    within = [one for one in front(found.values()) if one.points <= max_loss]
    exact = tune.predict([0] * len(tune.layers))
    return (exact, *spread([one for one in within if one.seconds < exact.seconds]))


def to_refine(tune: Tune, max_loss: float) -> tuple[Choice, ...]:
    """Choices that tell most of what the sum of moves lacks, as far as they are not known: the
    fastest of a loss beyond the one allowed, so that the front lies before it, and of a milder."""
    found = []
    for share in REFINED:
        within = [one for one in search(tune, share * max_loss) if one.points <= share * max_loss]
        found.append(min(within, key=lambda one: one.seconds).choice)
    return tuple(each for each in dict.fromkeys(found) if any(each) and not tune.knows(each))


def spread(ordered: Sequence[Predicted]) -> tuple[Predicted, ...]:
    """At most so many as are measured, as even in time as can be, the last among them."""
    if not ordered:
        return ()
    times = np.array([one.seconds for one in ordered])
    wanted = np.linspace(times[0], times[-1], min(MOST - 1, len(ordered)))
    places = {int(np.argmin(np.abs(times - each))) for each in wanted}
    return tuple(ordered[place] for place in sorted(places))


class FrontProgram:
    """Every point a variant; the exact one is the first."""

    def __init__(
        self,
        graph: Graph,
        choices: Sequence[Knobs],
        calibration: Calibration,
        tools: Toolchain,
        folder: Path,
    ) -> None:
        graphs = [applied(graph, knobs, calibration=calibration) for knobs in choices]
        self.memory = [weight_bytes(each) for each in graphs]
        self.variants: Variants = build_variants(graphs, tools, folder)

    def outputs(self, name: str, items: Array, state: TuningState, threads: int) -> Iterator[Array]:
        """Of each point in turn."""
        with tempfile.TemporaryDirectory(prefix="assay-tune-") as folder:
            write_items(Path(folder), self.variants.parts[0], [items])
            for number in range(len(self.memory)):
                yield state.array(
                    f"{name}-{number}",
                    partial(self.variants.first, number, Path(folder), threads),
                )


class Timed(NamedTuple):
    """Of each point, a value a round."""

    seconds: list[list[float]]
    joules: list[list[float]]  # of one item; empty where they cannot be measured

    def speedup(self, place: int) -> tuple[float, float, float]:
        """Over the exact one in the same round, with an interval that holds at any look."""
        pairs = zip(self.seconds[0], self.seconds[place], strict=False)
        found = interval([math.log(exact / here) for exact, here in pairs])
        low, high = (math.exp(max(min(x, 50.0), -50.0)) for x in (found.low, found.high))
        return math.exp(found.middle), low, high

    def narrow(self) -> bool:
        rounds = len(self.seconds[-1])
        if rounds < FEWEST:
            return False
        for place in range(1, len(self.seconds)):
            middle, low, high = self.speedup(place)
            if high - low > 2 * NARROW * middle:
                return False
        return True


class Energy(Protocol):
    """What a meter watched."""

    watts: float  # 0: not measured


class EnergyMeter(Protocol):
    """Measures the power of the machine while something runs."""

    def missing(self) -> str: ...

    def watched(self) -> AbstractContextManager[Energy]: ...


def timed(
    program: FrontProgram,
    items: Array,
    batch: int,
    guess: float,  # seconds of one item
    seed: int,
    state: TuningState,
    meter: EnergyMeter,
    more: Callable[[int], bool],  # after a round: whether there is time for another
) -> Timed:
    """Rounds in which every point has its turn, in an order drawn anew."""
    random = np.random.default_rng(seed)
    count = len(program.memory)
    found = Timed([[] for _ in range(count)], [[] for _ in range(count)])
    some = max(batch, min(len(items), math.ceil(PASS / guess)))
    with tempfile.TemporaryDirectory(prefix="assay-tune-") as folder:
        write_items(Path(folder), program.variants.parts[0], [items[:some]])
        for number in range(ROUNDS):
            for place in map(int, random.permutation(count)):
                look = partial(_looked, program.variants, place, Path(folder), batch, meter)
                told = state.numbers(f"round-{number}-{place}", look)
                found.seconds[place].append(told["seconds"])
                if told["watts"] > 0:
                    found.joules[place].append(told["watts"] * told["seconds"])
            if (not more(number + 1) and number + 1 >= FEWEST) or found.narrow():
                break
    return found


def _looked(
    variants: Variants, place: int, data: Path, batch: int, meter: EnergyMeter
) -> dict[str, float]:
    with meter.watched() as energy:
        took = variants.item_seconds(place, data, batch, CHOOSING)
    return {"seconds": took, "watts": energy.watts}


class PointFacts(NamedTuple):
    """Of one point: what was chosen and what came out."""

    knobs: Knobs
    predicted: float
    choosing: Array  # outputs on the pictures that it was predicted for
    confirming: Array
    test: Array


def points(
    facts: Sequence[PointFacts],
    held: TunePictures,
    took: Timed,
    memory: Sequence[int],
    max_loss: float,
) -> tuple[TunedPoint, ...]:
    """From the safest on, each is promised only if all before it were."""
    losses = [_loss(facts[0].confirming, each.confirming, held.confirming) for each in facts]
    kept = fastest_safe(losses, max_loss)
    return tuple(
        replace(
            _point(
                place, each, losses[place], held.test, facts[0].test, took, memory, place < kept
            ),
            measured=_loss(facts[0].choosing, each.choosing, held.choosing).points,
        )
        for place, each in enumerate(facts)
    )


def best_of(found: Sequence[TunedPoint], objective: Objective) -> TunedPoint:
    """Of those that keep the promise."""
    promised = [point for point in found if point.promised] or [found[0]]
    if objective == "memory":
        return min(promised, key=lambda point: (point.memory, point.seconds))
    if objective == "energy":
        return min(promised, key=lambda point: (point.energy or math.inf, point.seconds))
    return max(promised, key=lambda point: point.speedup)


def _point(
    place: int,
    each: PointFacts,
    confirmed: Loss,
    test: Labelled,
    exact: Array,
    took: Timed,
    memory: Sequence[int],
    promised: bool,
) -> TunedPoint:
    right = int(np.sum(each.test.argmax(1) == test.labels))
    low, high = wilson(right, len(test.labels))
    speedup = took.speedup(place) if place else (1.0, 1.0, 1.0)
    joules = took.joules[place]
    knobs = {layer: number for layer, number in each.knobs.items() if number != BASELINE}
    return TunedPoint(
        name=f"conf{place + 1}",
        knobs=knobs,
        words=in_words(knobs),
        predicted=each.predicted,
        confirmed=_interval(confirmed),
        test=_interval(_loss(exact, each.test, test)),
        accuracy=100 * right / len(test.labels),
        accuracy_low=100 * low,
        accuracy_high=100 * high,
        speedup=speedup[0],
        speedup_low=speedup[1],
        speedup_high=speedup[2],
        seconds=float(np.median(took.seconds[place])),
        samples=tuple(took.seconds[place]),
        memory=memory[place],
        energy=float(np.median(joules)) if joules else None,
        promised=promised,
    )


def in_words(knobs: Knobs) -> str:
    """How many layers have which: `5 int8, 2 samp_int8`."""
    counts = Counter(KNOBS[number].name for number in knobs.values())
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "exact"


def _loss(exact: Array, found: Array, pictures: Labelled) -> Loss:
    labels = pictures.labels[: len(exact)]
    return loss(exact.argmax(1) == labels, found.argmax(1) == labels)


def _interval(found: Loss) -> LossInterval:
    return LossInterval(
        points=found.points,
        low=found.low,
        high=found.high,
        pictures=found.n,
        bound=bound(found),
    )
