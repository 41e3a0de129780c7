"""Interaction residuals: measured whole-network outputs minus the sum of per-layer moves.

For small moves the interaction is a quadratic form of them, so the covariance of the residuals of
two choices is the square of the product of their moves. With this kernel, a Gaussian process
predicts the residual of a choice and its uncertainty from the measured choices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Choice = tuple[int, ...]
RIDGE = 0.1  # of the diagonal, for terms of higher order


class WholeChoice(NamedTuple):
    """A choice measured as a whole network, and the residual of the sum of its moves."""

    choice: Choice
    residual: Array  # images × classes


class InteractionResidual(NamedTuple):
    """Predicted residual of a choice, and its standard deviation."""

    delta: Array | None  # None: nothing is known
    spread: float


class Interactions:
    """Predicts residuals of choices; `moves` are the trials of each layer, the exact one first."""

    def __init__(self, moves: Sequence[Sequence[Array]], known: Sequence[WholeChoice] = ()) -> None:
        self._known = tuple(known)
        self._products = [_products(layer_moves) for layer_moves in moves]
        if known:
            self._set_weights()

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The measured choices."""
        return tuple(whole.choice for whole in self._known)

    def with_choices(self, more: Sequence[WholeChoice]) -> Interactions:
        """A predictor with further measured choices."""
        return self._copy((*self._known, *more))

    def without_choice(self, choice: Choice) -> Interactions:
        """A predictor without this choice."""
        return self._copy([whole for whole in self._known if whole.choice != choice])

    def residual(self, choice: Sequence[int]) -> InteractionResidual:
        """The residual of a choice, measured or predicted."""
        if not self._known:
            return InteractionResidual(None, 0.0)
        for whole in self._known:
            if whole.choice == tuple(choice):
                return InteractionResidual(whole.residual, 0.0)
        kernel = np.array([self._covariance(choice, whole.choice) for whole in self._known])
        weights = self._inverse @ kernel
        variance = max(0.0, self._covariance(choice, choice) - float(kernel @ weights))
        delta = sum(
            np.float32(weight) * whole.residual
            for weight, whole in zip(weights, self._known, strict=True)
        )
        return InteractionResidual(np.asarray(delta, np.float32), math.sqrt(self._scale * variance))

    def _copy(self, known: Sequence[WholeChoice]) -> Interactions:
        copy = object.__new__(Interactions)
        copy._products, copy._known = self._products, tuple(known)
        if known:
            copy._set_weights()
        return copy

    def _set_weights(self) -> None:
        kernel = np.array([[self._covariance(a, b) for b in self.choices] for a in self.choices])
        diagonal = np.diag(kernel)
        self._inverse = np.linalg.pinv(kernel + RIDGE * np.diag(diagonal))
        # pooled, so that choices with tiny moves have no weight
        self._scale = sum(_mean_square(whole.residual) for whole in self._known) / (
            diagonal.sum() or 1.0
        )

    def _covariance(self, first: Sequence[int], second: Sequence[int]) -> float:
        places = zip(self._products, first, second, strict=True)
        return float(sum(products[a, b] for products, a, b in places)) ** 2


def _products(moves: Sequence[Array]) -> NDArray[np.float64]:
    """Gram matrix of a layer's moves, centered over classes."""
    flat = np.array([(move - move.mean(1, keepdims=True)).ravel() for move in moves])
    result: NDArray[np.float64] = (flat @ flat.T).astype(np.float64) / flat.shape[1]
    return result


def _mean_square(delta: Array) -> float:
    return float(np.mean((delta - delta.mean(1, keepdims=True)) ** 2))
