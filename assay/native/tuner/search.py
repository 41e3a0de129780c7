"""Which knob for which layer: the fastest choices that are predicted to lose little accuracy.

Each knob of each layer was tried alone: its time, and by how much it moved the network's outputs.
What a choice of one knob a layer does is predicted by the sum of both, and of the casts between
layers of bytes and of floats. That holds as long as the moves are small; where they are large,
choices that were computed as a whole tell what it lacks, and how sure that is. The best predictions
are measured afterwards. Everything is deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.native.tuner.accuracy_loss import loss
from assay.native.tuner.interactions import Array, Choice, Interactions, WholeChoice

WEIGHTS = np.geomspace(1e-4, 1e4, 81)  # of harm against time, the whole of each being 1
PASSES = 10  # over all layers, at most, until no layer has a better knob beside its neighbours
LEAST_POINTS = 0.02  # less than this is lost or gained by one picture in 5000


class KnobTrial(NamedTuple):
    """A knob of one layer, tried alone."""

    knob: int
    seconds: float  # of the layer
    moved: Array  # outputs with it, less those of the exact network: pictures × classes
    bytes: bool = False  # it takes and gives bytes, not floats


class Cast(NamedTuple):
    """Two layers, by their places: what it takes where only one of them is of bytes."""

    first: int
    second: int
    seconds: float


class TunedLayer(NamedTuple):
    name: str
    tried: tuple[KnobTrial, ...]  # the exact one first


class Predicted(NamedTuple):
    """One knob a layer, as places in `TunedLayer.tried`, and what is expected of it."""

    choice: Choice
    seconds: float
    points: float  # lost


class Tune:
    """What a search looks at: layers, the exact network's outputs on the tune set, and labels."""

    def __init__(
        self,
        layers: Sequence[TunedLayer],
        outputs: Array,
        labels: NDArray[np.int64],
        casts: Sequence[Cast] = (),
        interactions: Interactions | None = None,
    ) -> None:
        self.layers, self.outputs, self.labels, self.casts = layers, outputs, labels, casts
        self.harm = [np.array([_spread(one.moved) for one in layer.tried]) for layer in layers]
        self._right = outputs.argmax(1) == labels
        self._interactions = interactions or Interactions(
            [[one.moved for one in layer.tried] for layer in layers]
        )
        self._predicted: dict[Choice, Predicted] = {}

    def refined(self, outputs: Mapping[Choice, Array]) -> Tune:
        """The same, knowing the outputs of some choices."""
        known = [
            WholeChoice(choice, found - self.outputs - self.summed(choice))
            for choice, found in outputs.items()
        ]
        return self._knowing(self._interactions.knowing(known))

    def foretold(self, choice: Choice) -> Predicted:
        """What would be predicted if this choice had not been computed as a whole."""
        return self._knowing(self._interactions.without(choice)).predict(choice)

    def knows(self, choice: Choice) -> bool:
        """Whether it was computed as a whole."""
        return choice in self._interactions.choices

    def _knowing(self, interactions: Interactions) -> Tune:
        return Tune(self.layers, self.outputs, self.labels, self.casts, interactions)

    def predict(self, choice: Sequence[int]) -> Predicted:
        choice = tuple(choice)
        if choice not in self._predicted:
            return self.predict_from(choice, self.summed(choice))
        return self._predicted[choice]

    def predict_from(self, choice: Choice, summed: Array) -> Predicted:
        """Where the sum of its moves is known already."""
        if choice not in self._predicted:
            lacking = self._interactions.lacking(choice)
            expected = self.outputs + summed
            expected = expected if lacking.moved is None else expected + lacking.moved
            points = self._points(expected, lacking.spread)
            self._predicted[choice] = Predicted(choice, self.seconds(choice), points)
        return self._predicted[choice]

    def seconds(self, choice: Sequence[int]) -> float:
        chosen = [layer.tried[k] for layer, k in zip(self.layers, choice, strict=True)]
        apart = (c.seconds for c in self.casts if chosen[c.first].bytes != chosen[c.second].bytes)
        return sum(one.seconds for one in chosen) + sum(apart)

    def summed(self, choice: Sequence[int]) -> Array:
        """The moves of a choice's knobs, each alone."""
        total = np.zeros_like(self.outputs)
        for layer, k in zip(self.layers, choice, strict=True):
            total += layer.tried[k].moved
        return total

    def _points(self, outputs: Array, spread: float) -> float:
        """Lost: counted where outputs are known, else expected. A picture whose outputs are nearly
        tied is right in so many of what they may be, which a count would take for all or none."""
        if spread <= 0:
            return loss(self._right, outputs.argmax(1) == self.labels).points
        rows = np.arange(len(outputs))
        own, others = outputs[rows, self.labels], outputs.copy()
        others[rows, self.labels] = -np.inf
        ahead = (own - others.max(1)) / (math.sqrt(2) * spread)  # of two numbers, so √2
        return float(100 * (self._right.mean() - _normal(ahead).mean()))


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
    found |= {one.choice: one for one in _descent(tune, best, points)}
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
        costs = [t + weight * whole_time / whole_harm * h for t, h in zip(time, harm, strict=True)]
        yield _beside_neighbours(tune, costs)


def _beside_neighbours(tune: Tune, costs: list[NDArray[np.float64]]) -> list[int]:
    """The cheapest choice with its casts, begun from the cheapest knob of each layer alone, and
    from its cheapest of bytes: what is cheap for all together need not be for any one first."""
    bytes_only = [
        np.where([one.bytes for one in layer.tried], cost, np.inf)
        for layer, cost in zip(tune.layers, costs, strict=True)
    ]
    starts = [[int(np.argmin(cost)) for cost in each] for each in (costs, bytes_only)]
    settled = [_settled(tune, costs, start) for start in starts]
    return min(settled, key=lambda choice: _cost(tune, costs, choice))


def _settled(tune: Tune, costs: list[NDArray[np.float64]], start: list[int]) -> list[int]:
    """Layer by layer, the cheapest beside its neighbours, until none changes."""
    choice = list(start)
    casts: list[list[tuple[int, float]]] = [[] for _ in choice]
    for cast in tune.casts:
        casts[cast.first].append((cast.second, cast.seconds))
        casts[cast.second].append((cast.first, cast.seconds))
    for _ in range(PASSES):
        before = list(choice)
        for place, layer in enumerate(tune.layers):
            kinds = np.array([one.bytes for one in layer.tried])
            cost = costs[place].copy()
            for other, seconds in casts[place]:
                cost += seconds * (kinds != tune.layers[other].tried[choice[other]].bytes)
            choice[place] = int(np.argmin(cost))
        if choice == before:
            break
    return choice


def _cost(tune: Tune, costs: list[NDArray[np.float64]], choice: list[int]) -> float:
    own = sum(float(cost[k]) for cost, k in zip(costs, choice, strict=True))
    alone = sum(layer.tried[k].seconds for layer, k in zip(tune.layers, choice, strict=True))
    return own + tune.seconds(choice) - alone


def _spread(moved: Array) -> float:
    return float(np.mean((moved - moved.mean(1, keepdims=True)) ** 2))


def _normal(values: Array) -> Array:
    """The normal distribution's share below each value, to 0.0003 (Page, 1977)."""
    held = np.clip(values, -6, 6)
    return np.asarray(0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (held + 0.044715 * held**3))))


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
    """All that differ from a choice in one layer, and are faster."""
    summed = tune.summed(now.choice)
    for place, layer in enumerate(tune.layers):
        without = summed - layer.tried[now.choice[place]].moved
        for k, one in enumerate(layer.tried):
            choice = (*now.choice[:place], k, *now.choice[place + 1 :])
            if tune.seconds(choice) < now.seconds:
                yield tune.predict_from(choice, without + one.moved)
