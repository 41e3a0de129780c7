"""Search for fast choices of one knob per layer with a small predicted accuracy loss.

Each knob of each layer is measured alone: its time, and the change of the network's outputs. The
prediction for a choice is the sum of both, and of the casts between int8 and float layers. It holds
for small changes; for large ones, choices measured as whole networks give the residual and its
uncertainty. The best predictions are measured afterwards. Everything is deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.native.tuner.accuracy_loss import loss
from assay.native.tuner.interactions import Array, Choice, Interactions, WholeChoice

WEIGHTS = np.geomspace(1e-4, 1e4, 81)  # of harm against time, both normalized to 1
PASSES = 10  # at most, of coordinate descent over all layers
LEAST_POINTS = 0.02  # one image in 5000


class KnobTrial(NamedTuple):
    """A knob of one layer, measured alone."""

    knob: int
    seconds: float  # of the layer
    delta: Array  # outputs with it minus those of the exact network: images × classes
    bytes: bool = False  # int8 input and output


class Cast(NamedTuple):
    """Time of a cast between two layers, by index, if only one of them is int8."""

    first: int
    second: int
    seconds: float


class TunedLayer(NamedTuple):
    name: str
    tried: tuple[KnobTrial, ...]  # the exact one first


class Predicted(NamedTuple):
    """One knob per layer, as indices into `TunedLayer.tried`, and its prediction."""

    choice: Choice
    seconds: float
    points: float  # lost


class Tune:
    """Data of a search: layers, the exact network's outputs on the tune set, and labels."""

    def __init__(
        self,
        layers: Sequence[TunedLayer],
        outputs: Array,
        labels: NDArray[np.int64],
        casts: Sequence[Cast] = (),
        interactions: Interactions | None = None,
    ) -> None:
        self.layers, self.outputs, self.labels, self.casts = layers, outputs, labels, casts
        self.harm = [np.array([_spread(trial.delta) for trial in layer.tried]) for layer in layers]
        self._right = outputs.argmax(1) == labels
        self._interactions = interactions or Interactions(
            [[trial.delta for trial in layer.tried] for layer in layers]
        )
        self._predicted: dict[Choice, Predicted] = {}

    def refine(self, outputs: Mapping[Choice, Array]) -> Tune:
        """A predictor that also knows the outputs of these choices."""
        known = [
            WholeChoice(choice, values - self.outputs - self.sum_moves(choice))
            for choice, values in outputs.items()
        ]
        return self._with_interactions(self._interactions.with_choices(known))

    def predict_held_out(self, choice: Choice) -> Predicted:
        """Leave-one-out prediction of a choice."""
        return self._with_interactions(self._interactions.without_choice(choice)).predict(choice)

    def is_measured(self, choice: Choice) -> bool:
        """Whether the choice was measured as a whole network."""
        return choice in self._interactions.choices

    def _with_interactions(self, interactions: Interactions) -> Tune:
        return Tune(self.layers, self.outputs, self.labels, self.casts, interactions)

    def predict(self, choice: Sequence[int]) -> Predicted:
        choice = tuple(choice)
        if choice not in self._predicted:
            return self.predict_from(choice, self.sum_moves(choice))
        return self._predicted[choice]

    def predict_from(self, choice: Choice, summed: Array) -> Predicted:
        """Predict a choice with a known sum of its moves."""
        if choice not in self._predicted:
            residual = self._interactions.residual(choice)
            expected = self.outputs + summed
            expected = expected if residual.delta is None else expected + residual.delta
            points = self._points(expected, residual.spread)
            self._predicted[choice] = Predicted(choice, self.seconds(choice), points)
        return self._predicted[choice]

    def seconds(self, choice: Sequence[int]) -> float:
        chosen = [layer.tried[k] for layer, k in zip(self.layers, choice, strict=True)]
        casts = (c.seconds for c in self.casts if chosen[c.first].bytes != chosen[c.second].bytes)
        return sum(trial.seconds for trial in chosen) + sum(casts)

    def sum_moves(self, choice: Sequence[int]) -> Array:
        """Sum of the moves of a choice's knobs."""
        total = np.zeros_like(self.outputs)
        for layer, k in zip(self.layers, choice, strict=True):
            total += layer.tried[k].delta
        return total

    def _points(self, outputs: Array, spread: float) -> float:
        """Points lost: counted if outputs are known, else expected under their uncertainty, so that
        images near a tie count in part."""
        if spread <= 0:
            return loss(self._right, outputs.argmax(1) == self.labels).points
        rows = np.arange(len(outputs))
        own, others = outputs[rows, self.labels], outputs.copy()
        others[rows, self.labels] = -np.inf
        ahead = (own - others.max(1)) / (math.sqrt(2) * spread)  # √2: difference of two outputs
        return float(100 * (self._right.mean() - _normal(ahead).mean()))


def search(tune: Tune, points: float) -> tuple[Predicted, ...]:
    """Pareto front of choices, the slowest first.

    Starts with a choice for every weight between harm and time; then greedy descent from the
    fastest one within `points`, knob by knob, while it gets faster and stays within them.
    """
    results = {point.choice: point for point in map(tune.predict, _balance(tune))}
    exact = tune.predict([0] * len(tune.layers))
    results[exact.choice] = exact
    within = [point for point in results.values() if point.points <= points]
    best = min(within, key=lambda point: (point.seconds, point.points))
    results |= {point.choice: point for point in _descent(tune, best, points)}
    return front(results.values())


def front(choices: Iterable[Predicted]) -> tuple[Predicted, ...]:
    """Pareto front: choices that lose less than every faster one."""
    ordered = sorted(choices, key=lambda point: (point.points, point.seconds, point.choice))
    best: list[Predicted] = []
    for point in ordered:
        if not best or point.seconds < best[-1].seconds:
            best.append(point)
    return tuple(best)


def _balance(tune: Tune) -> Iterator[list[int]]:
    """The cheapest choice for each weight of harm.

    Harm is the mean square change of the outputs relative to each other. It is additive for
    independent changes, and unlike a count of errors it is not 0 by chance.
    """
    harm = tune.harm
    time = [np.array([trial.seconds for trial in layer.tried]) for layer in tune.layers]
    whole_harm = sum(float(trial.max()) for trial in harm) or 1.0
    whole_time = sum(float(trial[0]) for trial in time) or 1.0
    for weight in WEIGHTS:
        costs = [t + weight * whole_time / whole_harm * h for t, h in zip(time, harm, strict=True)]
        yield _cheapest_with_casts(tune, costs)


def _cheapest_with_casts(tune: Tune, costs: list[NDArray[np.float64]]) -> list[int]:
    """The cheapest choice with its casts, starting from the cheapest knob of each layer and from
    its cheapest int8 knob."""
    bytes_only = [
        np.where([trial.bytes for trial in layer.tried], cost, np.inf)
        for layer, cost in zip(tune.layers, costs, strict=True)
    ]
    starts = [[int(np.argmin(cost)) for cost in layer_costs] for layer_costs in (costs, bytes_only)]
    choices = [_descend(tune, costs, start) for start in starts]
    return min(choices, key=lambda choice: _cost(tune, costs, choice))


def _descend(tune: Tune, costs: list[NDArray[np.float64]], start: list[int]) -> list[int]:
    """Coordinate descent: the cheapest knob of each layer with its casts, until none changes."""
    choice = list(start)
    casts: list[list[tuple[int, float]]] = [[] for _ in choice]
    for cast in tune.casts:
        casts[cast.first].append((cast.second, cast.seconds))
        casts[cast.second].append((cast.first, cast.seconds))
    for _ in range(PASSES):
        before = list(choice)
        for index, layer in enumerate(tune.layers):
            kinds = np.array([trial.bytes for trial in layer.tried])
            cost = costs[index].copy()
            for other, seconds in casts[index]:
                cost += seconds * (kinds != tune.layers[other].tried[choice[other]].bytes)
            choice[index] = int(np.argmin(cost))
        if choice == before:
            break
    return choice


def _cost(tune: Tune, costs: list[NDArray[np.float64]], choice: list[int]) -> float:
    own = sum(float(cost[k]) for cost, k in zip(costs, choice, strict=True))
    alone = sum(layer.tried[k].seconds for layer, k in zip(tune.layers, choice, strict=True))
    return own + tune.seconds(choice) - alone


def _spread(delta: Array) -> float:
    return float(np.mean((delta - delta.mean(1, keepdims=True)) ** 2))


def _normal(values: Array) -> Array:
    """The normal distribution function, to 0.0003 (Page, 1977)."""
    x = np.clip(values, -6, 6)
    return np.asarray(0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))


def _descent(tune: Tune, start: Predicted, points: float) -> Iterator[Predicted]:
    """Change one knob at a time: the one with the best ratio of time saved to points lost."""
    now = start
    while faster := [point for point in _faster(tune, now) if point.points <= points]:
        now = max(faster, key=lambda point: (_worth(point, now), point.choice))
        yield now


def _worth(point: Predicted, now: Predicted) -> float:
    """Time saved for each point lost; a gain counts as LEAST_POINTS lost."""
    return (now.seconds - point.seconds) / max(point.points - now.points, LEAST_POINTS)


def _faster(tune: Tune, now: Predicted) -> Iterator[Predicted]:
    """All faster choices that differ in one layer."""
    summed = tune.sum_moves(now.choice)
    for index, layer in enumerate(tune.layers):
        without = summed - layer.tried[now.choice[index]].delta
        for k, trial in enumerate(layer.tried):
            choice = (*now.choice[:index], k, *now.choice[index + 1 :])
            if tune.seconds(choice) < now.seconds:
                yield tune.predict_from(choice, without + trial.delta)
