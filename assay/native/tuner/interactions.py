"""What the sum of each layer's move lacks, told by choices that were computed as a whole.

Layers are changed together, and what one does depends on what the others did. For small moves that
is a quadratic form of them: so of two choices it is alike as the square of how alike their moves
are. With that likeness as covariance, what a choice lacks is expected to be a mixture of what the
known ones lack (a Gaussian process), and how far off that may be is known too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Choice = tuple[int, ...]
RIDGE = 0.1  # of a choice's own likeness: what is of a higher order, and no mixture of others


class WholeChoice(NamedTuple):
    """One that was computed as a whole, and what the sum of its moves lacks."""

    choice: Choice
    lacking: Array  # pictures × classes


class Lacking(NamedTuple):
    """Of a choice: what is expected, and the standard deviation of each number of it."""

    moved: Array | None  # None: nothing is known
    spread: float


class Interactions:
    """What is lacking, of any choice; `moves` are the trials of each layer, the exact one first."""

    def __init__(self, moves: Sequence[Sequence[Array]], known: Sequence[WholeChoice] = ()) -> None:
        self._known = tuple(known)
        self._products = [_products(each) for each in moves]
        if known:
            self._set_weights()

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Those that are known."""
        return tuple(each.choice for each in self._known)

    def knowing(self, more: Sequence[WholeChoice]) -> Interactions:
        """With these known too."""
        return self._with((*self._known, *more))

    def without(self, choice: Choice) -> Interactions:
        """As if this one had not been computed."""
        return self._with([each for each in self._known if each.choice != choice])

    def lacking(self, choice: Sequence[int]) -> Lacking:
        """Of a choice that is known, what it is."""
        if not self._known:
            return Lacking(None, 0.0)
        for each in self._known:
            if each.choice == tuple(choice):
                return Lacking(each.lacking, 0.0)
        alike = np.array([self._alike(choice, each.choice) for each in self._known])
        shares = self._inverse @ alike
        left = max(0.0, self._alike(choice, choice) - float(alike @ shares))
        moved = sum(
            np.float32(share) * each.lacking
            for share, each in zip(shares, self._known, strict=True)
        )
        return Lacking(np.asarray(moved, np.float32), math.sqrt(self._scale * left))

    def _with(self, known: Sequence[WholeChoice]) -> Interactions:
        made = object.__new__(Interactions)
        made._products, made._known = self._products, tuple(known)
        if known:
            made._set_weights()
        return made

    def _set_weights(self) -> None:
        alike = np.array([[self._alike(a, b) for b in self.choices] for a in self.choices])
        own = np.diag(alike)
        self._inverse = np.linalg.pinv(alike + RIDGE * np.diag(own))
        # Pooled, so that choices which hardly move anything do not count.
        self._scale = sum(_mean_square(each.lacking) for each in self._known) / (own.sum() or 1.0)

    def _alike(self, first: Sequence[int], second: Sequence[int]) -> float:
        places = zip(self._products, first, second, strict=True)
        return float(sum(products[a, b] for products, a, b in places)) ** 2


def _products(moves: Sequence[Array]) -> NDArray[np.float64]:
    """The mean product of every two moves of a layer, against the mean over classes."""
    flat = np.array([(each - each.mean(1, keepdims=True)).ravel() for each in moves])
    found: NDArray[np.float64] = (flat @ flat.T).astype(np.float64) / flat.shape[1]
    return found


def _mean_square(moved: Array) -> float:
    return float(np.mean((moved - moved.mean(1, keepdims=True)) ** 2))
