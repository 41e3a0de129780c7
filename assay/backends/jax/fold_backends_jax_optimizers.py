"""Four optimizers as pure functions, with Keras' constants so that all contenders do the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

# (gradient, slots of this weight, count of steps from 1) → (what is taken off, new slots)
Rule = Callable[[Any, Any, Any], tuple[Any, Any]]


class JaxOptimizer:
    """A rule with its learning rate. It remembers nothing: its slots go round with the state."""

    def __init__(self, name: str, rate: float) -> None:
        self._rule, self._count = _RULES[name]
        self._rate = rate

    def slots(self, params: Any) -> Any:  # noqa: ANN401 (pytrees)
        """As many arrays for each weight as the rule needs."""
        return [
            [jnp.zeros_like(leaf) for _ in range(self._count)] for leaf in jax.tree.leaves(params)
        ]

    def updated(self, params: Any, gradients: Any, slots: Any, count: Any) -> tuple[Any, Any]:  # noqa: ANN401
        """New parameters and new slots, each in the dtype it had."""
        leaves, shape = jax.tree.flatten(params)
        new_leaves, new_slots = [], []
        for leaf, gradient, own in zip(leaves, jax.tree.leaves(gradients), slots, strict=True):
            change, kept = self._rule(gradient, own, count)
            new_leaves.append((leaf - self._rate * change).astype(leaf.dtype))
            new_slots.append([slot.astype(leaf.dtype) for slot in kept])
        return jax.tree.unflatten(shape, new_leaves), new_slots


def _sgd(gradient: Any, slots: Any, count: Any) -> tuple[Any, Any]:  # noqa: ANN401
    return gradient, []


def _momentum(gradient: Any, slots: Any, count: Any) -> tuple[Any, Any]:  # noqa: ANN401
    speed = 0.9 * slots[0] + gradient
    return speed, [speed]


def _rmsprop(gradient: Any, slots: Any, count: Any) -> tuple[Any, Any]:  # noqa: ANN401
    square = 0.9 * slots[0] + 0.1 * gradient**2
    return gradient / jnp.sqrt(square + 1e-7), [square]


def _adam(gradient: Any, slots: Any, count: Any) -> tuple[Any, Any]:  # noqa: ANN401
    mean = 0.9 * slots[0] + 0.1 * gradient
    square = 0.999 * slots[1] + 0.001 * gradient**2
    scale = jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    return scale * mean / (jnp.sqrt(square) + 1e-7), [mean, square]


# the rule, and how many slots it needs
_RULES: dict[str, tuple[Rule, int]] = {
    "sgd": (_sgd, 0),
    "momentum": (_momentum, 1),
    "rmsprop": (_rmsprop, 1),
    "adam": (_adam, 2),
}
