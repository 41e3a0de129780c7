"""Measure the best choices as whole networks: loss, time, memory, energy."""

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
from assay.native.knobs.apply import Calibration, apply_knobs
from assay.native.knobs.table import BASELINE, KNOBS
from assay.native.run_program import write_items
from assay.native.toolchain import Toolchain
from assay.native.tuner.accuracy_loss import Loss, bound, fastest_safe, loss
from assay.native.tuner.candidates import weight_bytes
from assay.native.tuner.interactions import Choice
from assay.native.tuner.records import (
    LabelledImages,
    LossInterval,
    Objective,
    TunedPoint,
    TuneSplits,
)
from assay.native.tuner.search import Predicted, Tune, front, search
from assay.native.tuner.state import TuningState
from assay.native.variants import Variants, build_variants
from assay.stats.accuracy import wilson
from assay.stats.sequential import MIN_PAIRS, interval

MAX_POINTS = 8  # measured points, including the exact one
TARGETS = (1.0, 0.75, 0.5, 0.3, 0.15)  # of the allowed loss
REFINED = (1.5, 0.75)  # of the allowed loss, for choices that refine predictions
CHOOSING = 0.5  # seconds for choosing kernels
PASS = 0.3  # seconds of a timed pass
ROUNDS = 10
NARROW = 0.03  # sufficient relative half-width of a speed-up's interval

Knobs = Mapping[str, int]


def points_to_confirm(tune: Tune, max_loss: float) -> tuple[Predicted, ...]:
    """Choices to measure, predicted to be within the allowed loss, from the safest on."""
    choices = {point.choice: point for share in TARGETS for point in search(tune, share * max_loss)}
    within = [point for point in front(choices.values()) if point.points <= max_loss]
    exact = tune.predict([0] * len(tune.layers))
    return (exact, *spread([point for point in within if point.seconds < exact.seconds]))


def choices_to_refine(tune: Tune, max_loss: float) -> tuple[Choice, ...]:
    """Unmeasured whole-network choices that refine the predictor: the fastest with a loss beyond
    the allowed one and with a smaller one."""
    choices = []
    for share in REFINED:
        within = [
            point for point in search(tune, share * max_loss) if point.points <= share * max_loss
        ]
        choices.append(min(within, key=lambda point: point.seconds).choice)
    return tuple(
        choice for choice in dict.fromkeys(choices) if any(choice) and not tune.is_measured(choice)
    )


def spread(ordered: Sequence[Predicted]) -> tuple[Predicted, ...]:
    """At most MAX_POINTS - 1 choices, evenly spaced in time, including the last."""
    if not ordered:
        return ()
    times = np.array([point.seconds for point in ordered])
    targets = np.linspace(times[0], times[-1], min(MAX_POINTS - 1, len(ordered)))
    indices = {int(np.argmin(np.abs(times - target))) for target in targets}
    return tuple(ordered[index] for index in sorted(indices))


class FrontProgram:
    """A program with every point as a variant; the exact one is the first."""

    def __init__(
        self,
        graph: Graph,
        choices: Sequence[Knobs],
        calibration: Calibration,
        tools: Toolchain,
        folder: Path,
    ) -> None:
        graphs = [apply_knobs(graph, knobs, calibration=calibration) for knobs in choices]
        self.memory = [weight_bytes(variant) for variant in graphs]
        self.variants: Variants = build_variants(graphs, tools, folder)

    def outputs(self, name: str, items: Array, state: TuningState, threads: int) -> Iterator[Array]:
        """Outputs of each point in turn."""
        with tempfile.TemporaryDirectory(prefix="assay-tune-") as folder:
            write_items(Path(folder), self.variants.parts[0], [items])
            for number in range(len(self.memory)):
                yield state.array(
                    f"{name}-{number}", partial(self.variants.first, number, Path(folder), threads)
                )


class Timed(NamedTuple):
    """Measurements of each point, one per round."""

    seconds: list[list[float]]
    joules: list[list[float]]  # of one item; empty where they cannot be measured

    def speedup(self, index: int) -> tuple[float, float, float]:
        """Speed-up over the exact point in the same round, with an anytime-valid interval."""
        pairs = zip(self.seconds[0], self.seconds[index], strict=False)
        estimate = interval([math.log(exact / seconds) for exact, seconds in pairs])
        low, high = (math.exp(max(min(x, 50.0), -50.0)) for x in (estimate.low, estimate.high))
        return math.exp(estimate.middle), low, high

    def is_narrow(self) -> bool:
        rounds = len(self.seconds[-1])
        if rounds < MIN_PAIRS:
            return False
        for index in range(1, len(self.seconds)):
            middle, low, high = self.speedup(index)
            if high - low > 2 * NARROW * middle:
                return False
        return True


class Energy(Protocol):
    """A reading of an energy meter."""

    watts: float  # 0: not measured


class EnergyMeter(Protocol):
    """Measures the power of the machine while something runs."""

    def missing(self) -> str: ...

    def measure(self) -> AbstractContextManager[Energy]: ...


def time_points(
    program: FrontProgram,
    items: Array,
    batch: int,
    guess: float,  # seconds of one item
    seed: int,
    state: TuningState,
    meter: EnergyMeter,
    more: Callable[[int], bool],  # whether there is time for another round
) -> Timed:
    """Time all points in rounds of random order."""
    random = np.random.default_rng(seed)
    count = len(program.memory)
    times = Timed([[] for _ in range(count)], [[] for _ in range(count)])
    some = max(batch, min(len(items), math.ceil(PASS / guess)))
    with tempfile.TemporaryDirectory(prefix="assay-tune-") as folder:
        write_items(Path(folder), program.variants.parts[0], [items[:some]])
        for number in range(ROUNDS):
            for index in map(int, random.permutation(count)):
                measure = partial(
                    _time_variant, program.variants, index, Path(folder), batch, meter
                )
                values = state.numbers(f"round-{number}-{index}", measure)
                times.seconds[index].append(values["seconds"])
                if values["watts"] > 0:
                    times.joules[index].append(values["watts"] * values["seconds"])
            if (not more(number + 1) and number + 1 >= MIN_PAIRS) or times.is_narrow():
                break
    return times


def _time_variant(
    variants: Variants, index: int, data: Path, batch: int, meter: EnergyMeter
) -> dict[str, float]:
    with meter.measure() as energy:
        seconds = variants.item_seconds(index, data, batch, CHOOSING)
    return {"seconds": seconds, "watts": energy.watts}


class PointOutputs(NamedTuple):
    """A point's choice and outputs."""

    knobs: Knobs
    predicted: float
    choosing: Array  # outputs on the images of the search
    confirming: Array
    test: Array


def points(
    facts: Sequence[PointOutputs],
    splits: TuneSplits,
    times: Timed,
    memory: Sequence[int],
    max_loss: float,
) -> tuple[TunedPoint, ...]:
    """The points from the safest on; each is promised only if all before it are."""
    losses = [_loss(facts[0].confirming, point.confirming, splits.confirming) for point in facts]
    safe = fastest_safe(losses, max_loss)
    return tuple(
        replace(
            _point(
                index, point, losses[index], splits.test, facts[0].test, times, memory, index < safe
            ),
            measured=_loss(facts[0].choosing, point.choosing, splits.choosing).points,
        )
        for index, point in enumerate(facts)
    )


def best_point(points: Sequence[TunedPoint], objective: Objective) -> TunedPoint:
    """The best promised point."""
    promised = [point for point in points if point.promised] or [points[0]]
    if objective == "memory":
        return min(promised, key=lambda point: (point.memory, point.seconds))
    if objective == "energy":
        return min(promised, key=lambda point: (point.energy or math.inf, point.seconds))
    return max(promised, key=lambda point: point.speedup)


def _point(
    index: int,
    facts: PointOutputs,
    confirmed: Loss,
    test: LabelledImages,
    exact: Array,
    times: Timed,
    memory: Sequence[int],
    promised: bool,
) -> TunedPoint:
    right = int(np.sum(facts.test.argmax(1) == test.labels))
    low, high = wilson(right, len(test.labels))
    speedup = times.speedup(index) if index else (1.0, 1.0, 1.0)
    joules = times.joules[index]
    knobs = {layer: number for layer, number in facts.knobs.items() if number != BASELINE}
    return TunedPoint(
        name=f"conf{index + 1}",
        knobs=knobs,
        words=in_words(knobs),
        predicted=facts.predicted,
        confirmed=_interval(confirmed),
        test=_interval(_loss(exact, facts.test, test)),
        accuracy=100 * right / len(test.labels),
        accuracy_low=100 * low,
        accuracy_high=100 * high,
        speedup=speedup[0],
        speedup_low=speedup[1],
        speedup_high=speedup[2],
        seconds=float(np.median(times.seconds[index])),
        samples=tuple(times.seconds[index]),
        memory=memory[index],
        energy=float(np.median(joules)) if joules else None,
        promised=promised,
    )


def in_words(knobs: Knobs) -> str:
    """Number of layers by knob: `5 int8, 2 samp_int8`."""
    counts = Counter(KNOBS[number].name for number in knobs.values())
    return ", ".join(f"{count} {name}" for name, count in counts.most_common()) or "exact"


def _loss(exact: Array, outputs: Array, images: LabelledImages) -> Loss:
    labels = images.labels[: len(exact)]
    return loss(exact.argmax(1) == labels, outputs.argmax(1) == labels)


def _interval(result: Loss) -> LossInterval:
    return LossInterval(
        points=result.points,
        low=result.low,
        high=result.high,
        pictures=result.n,
        bound=bound(result),
    )
