"""Which knob for which layer: the fastest choices that are predicted to lose little accuracy.

Each knob of each layer was tried alone: its time, and by how much it moved the network's outputs.
What a choice of one knob a layer does is predicted by the sum of both, which holds as long as the
moves are small; where they are large, a choice that was measured as a whole tells what it lacks.
The best predictions are measured afterwards. Everything is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.paired_loss import loss

Array = NDArray[np.float32]
WEIGHTS = np.geomspace(1e-4, 1e4, 81)  # of harm against time, the whole of each being 1
LEAST_POINTS = 0.02  # less than this is lost or gained by one picture in 5000


class KnobTrial(NamedTuple):
    """A knob of one layer, tried alone."""

    knob: int
    seconds: float  # of the layer
    moved: Array  # outputs with it, less those of the exact network: pictures × classes


class TunedLayer(NamedTuple):
    name: str
    tried: tuple[KnobTrial, ...]  # the exact one first


class Predicted(NamedTuple):
    """One knob a layer, as places in `TunedLayer.tried`, and what is expected of it."""

    choice: tuple[int, ...]
    seconds: float
    points: float  # lost


class Lacking(NamedTuple):
    """What the sum of moves lacks for a choice that was measured, and that choice's harm."""

    moved: Array
    harm: float


class Tune:
    """What a search looks at: layers, the exact network's outputs on the tune set, and labels."""

    def __init__(
        self,
        layers: Sequence[TunedLayer],
        outputs: Array,
        labels: NDArray[np.int64],
        lacking: Lacking | None = None,
    ) -> None:
        self.layers, self.outputs, self.labels = layers, outputs, labels
        self.harm = [np.array([_spread(one.moved) for one in layer.tried]) for layer in layers]
        self._before = outputs.argmax(1) == labels
        self._lacking = lacking

    def refined(self, choice: Sequence[int], outputs: Array) -> Tune:
        """The same, knowing the outputs of a choice: of others that do as much harm, or more, the
        sum lacks the same, of milder ones a share."""
        lacking = outputs - self.outputs - self.moved(choice)
        return Tune(
            self.layers, self.outputs, self.labels, Lacking(lacking, self._whole_harm(choice))
        )

    def predict(self, choice: Sequence[int]) -> Predicted:
        chosen = [layer.tried[k] for layer, k in zip(self.layers, choice, strict=True)]
        seconds = sum(one.seconds for one in chosen)
        return Predicted(tuple(choice), seconds, self.points(self.moved(choice)))

    def moved(self, choice: Sequence[int]) -> Array:
        """By how much a choice is expected to move the outputs."""
        total = np.zeros_like(self.outputs)
        for layer, k in zip(self.layers, choice, strict=True):
            total += layer.tried[k].moved
        if self._lacking and self._lacking.harm > 0:
            share = min(1.0, self._whole_harm(choice) / self._lacking.harm)
            total += np.float32(share) * self._lacking.moved
        return total

    def _whole_harm(self, choice: Sequence[int]) -> float:
        return float(sum(harm[k] for harm, k in zip(self.harm, choice, strict=True)))

    def points(self, moved: Array) -> float:
        return loss(self._before, (self.outputs + moved).argmax(1) == self.labels).points


def search(tune: Tune, points: float) -> tuple[Predicted, ...]:
    """Choices none of which is both slower and worse than another, the slowest first.

    A choice for every weight between harm and time first; then the fastest that loses at most so
    many points is changed knob by knob, as long as it gets faster and stays within them.
    """
    found = {one.choice: one for one in map(tune.predict, _balanced(tune))}
    exact = tune.predict([0] * len(tune.layers))
    found[exact.choice] = exact
    within = [one for one in found.values() if one.points <= points]
    best = min(within, key=lambda one: (one.seconds, one.points))
    for one in _descent(tune, best, points):
        found[one.choice] = tune.predict(one.choice)
    return front(found.values())


def front(choices: Iterable[Predicted]) -> tuple[Predicted, ...]:
    """Those that lose less than every faster one."""
    ordered = sorted(choices, key=lambda one: (one.points, one.seconds, one.choice))
    kept: list[Predicted] = []
    for one in ordered:
        if not kept or one.seconds < kept[-1].seconds:
            kept.append(one)
    return tuple(kept)


def _balanced(tune: Tune) -> Iterator[list[int]]:
    """The cheapest knob of every layer, for each weight of harm.

    Harm is the mean square by which outputs move against each other: of moves that are
    independent it adds up over layers, and unlike a count of mistakes it is never 0 by chance.
    """
    harm = tune.harm
    time = [np.array([one.seconds for one in layer.tried]) for layer in tune.layers]
    whole_harm = sum(float(one.max()) for one in harm) or 1.0
    whole_time = sum(float(one[0]) for one in time) or 1.0
    for weight in WEIGHTS:
        yield [
            int(np.argmin(t / whole_time + weight * h / whole_harm))
            for t, h in zip(time, harm, strict=True)
        ]


def _spread(moved: Array) -> float:
    return float(np.mean((moved - moved.mean(1, keepdims=True)) ** 2))


def _descent(tune: Tune, start: Predicted, points: float) -> Iterator[Predicted]:
    """Change one knob at a time: the one that saves most time for what it loses."""
    now = start
    while faster := [one for one in _faster(tune, now) if one.points <= points]:
        now = max(faster, key=lambda one: (_worth(one, now), one.choice))
        yield now


def _worth(one: Predicted, now: Predicted) -> float:
    """Time saved for each point lost, where a gain counts as nearly nothing lost."""
    return (now.seconds - one.seconds) / max(one.points - now.points, LEAST_POINTS)


def _faster(tune: Tune, now: Predicted) -> Iterator[Predicted]:
    """All that differ from a choice in one layer, which is faster."""
    moved = tune.moved(now.choice)
    for place, layer in enumerate(tune.layers):
        current = layer.tried[now.choice[place]]
        without = moved - current.moved
        for k, one in enumerate(layer.tried):
            if one.seconds < current.seconds:
                choice = (*now.choice[:place], k, *now.choice[place + 1 :])
                seconds = now.seconds - current.seconds + one.seconds
                yield Predicted(choice, seconds, tune.points(without + one.moved))
