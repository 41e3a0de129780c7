"""Weights of a Keras model from numpy and a seed, so that they are equal on every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from keras import initializers

from assay.core import phases
from assay.workloads.models.weight_specs import draw_weights


def seeded_model(seed: int, make: Callable[..., Any], *sizes: object, **kwargs: object) -> Any:
    """`make(*sizes, **kwargs)` with every weight drawn by its role; none is constant 0 or 1."""
    with no_random_initializers():
        model = make(*sizes, **kwargs)
    shapes = {
        f"{position}.{weight.name}": tuple(weight.shape)
        for position, weight in enumerate(model.weights)
    }
    with phases.during("weights"):
        for variable, (_, values) in zip(model.weights, draw_weights(shapes, seed), strict=True):
            variable.assign(values)
    return model


@contextmanager
def no_random_initializers() -> Iterator[None]:
    """Random initializers give zeros: their values are replaced, but would have to be compiled."""
    kinds = (initializers.VarianceScaling, initializers.RandomUniform, initializers.Orthogonal)
    own = [kind.__call__ for kind in kinds]
    for kind in kinds:
        kind.__call__ = lambda self, shape, dtype=None: np.zeros(shape, np.float32)
    try:
        yield
    finally:
        for kind, call in zip(kinds, own, strict=True):
            kind.__call__ = call
