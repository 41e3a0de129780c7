"""Weights of a Keras model from numpy and a seed, so that every engine has the very same ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from keras import initializers


def seeded(seed: int, make: Callable[..., Any], *sizes: Any, **named: Any) -> Any:  # noqa: ANN401
    """`make(*sizes, **named)` with every weight set by its role; none is 0 or 1 throughout."""
    with _initialised_later():
        model = make(*sizes, **named)
    random = np.random.default_rng(seed)
    for variable in model.weights:
        low, high = _range(variable)
        values = random.random(variable.shape, dtype=np.float32)
        values *= high - low
        values += low
        variable.assign(values)
    return model


@contextmanager
def _initialised_later() -> Iterator[None]:
    """Random initializers give zeros: a kernel of each shape would be compiled for what is lost."""
    kinds = (initializers.VarianceScaling, initializers.RandomUniform, initializers.Orthogonal)
    own = [kind.__call__ for kind in kinds]
    for kind in kinds:
        kind.__call__ = lambda self, shape, dtype=None: np.zeros(shape, np.float32)
    try:
        yield
    finally:
        for kind, call in zip(kinds, own, strict=True):
            kind.__call__ = call


def _range(variable: Any) -> tuple[float, float]:  # noqa: ANN401 (a keras.Variable)
    name, shape = variable.name, tuple(variable.shape)
    if name in {"gamma", "moving_variance"}:
        return 0.9, 1.1
    if name.endswith("kernel") and len(shape) > 1:
        # Glorot and Bengio (2010); a depthwise kernel meets one channel at a time
        receptive = math.prod(shape[:-2])
        fans = 2 * receptive if name.startswith("depthwise") else receptive * sum(shape[-2:])
        limit = math.sqrt(6 / fans)
        return -limit, limit
    return -0.05, 0.05
