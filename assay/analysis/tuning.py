"""Which knob for which layer: the fastest choices that are predicted to lose little accuracy.

Each knob of each layer was tried alone: its time, and by how much it moved the network's outputs.
What a choice of one knob a layer does is predicted by the sum of both, and of the casts between
layers of bytes and of floats. That holds as long as the moves are small; where they are large, a
choice that was measured as a whole tells what it lacks. The best predictions are measured
afterwards. Everything is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.analysis.paired_loss import loss

Array = NDArray[np.float32]
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
        casts: Sequence[Cast] = (),
        lacking: Lacking | None = None,
    ) -> None:
        self.layers, self.outputs, self.labels, self.casts = layers, outputs, labels, casts
        self.harm = [np.array([_spread(one.moved) for one in layer.tried]) for layer in layers]
        self._before = outputs.argmax(1) == labels
        self._lacking = lacking

    def refined(self, choice: Sequence[int], outputs: Array) -> Tune:
        """The same, knowing the outputs of a choice: of others that do as much harm, or more, the
        sum lacks the same, of milder ones a share."""
        lacking = outputs - self.outputs - self.moved(choice)
        known = Lacking(lacking, self._whole_harm(choice))
        return Tune(self.layers, self.outputs, self.labels, self.casts, known)

    def predict(self, choice: Sequence[int]) -> Predicted:
        return Predicted(tuple(choice), self.seconds(choice), self.points(self.moved(choice)))

    def seconds(self, choice: Sequence[int]) -> float:
        chosen = [layer.tried[k] for layer, k in zip(self.layers, choice, strict=True)]
        apart = (c.seconds for c in self.casts if chosen[c.first].bytes != chosen[c.second].bytes)
        return sum(one.seconds for one in chosen) + sum(apart)

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
    moved = tune.moved(now.choice)
    for place, layer in enumerate(tune.layers):
        without = moved - layer.tried[now.choice[place]].moved
        for k, one in enumerate(layer.tried):
            choice = (*now.choice[:place], k, *now.choice[place + 1 :])
            if (seconds := tune.seconds(choice)) < now.seconds:
                yield Predicted(choice, seconds, tune.points(without + one.moved))
