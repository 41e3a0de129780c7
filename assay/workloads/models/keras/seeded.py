"""Weights of a Keras model from numpy and a seed, so that every engine has the very same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from keras import initializers

from assay.core import phases
from assay.workloads.models.weight_specs import drawn


def seeded(seed: int, make: Callable[..., Any], *sizes: Any, **named: Any) -> Any:
    """`make(*sizes, **named)` with every weight set by its role; none is 0 or 1 throughout."""
    with initialised_later():
        model = make(*sizes, **named)
    listed = {f"{place}.{one.name}": tuple(one.shape) for place, one in enumerate(model.weights)}
    with phases.during("weights"):
        for variable, (_, values) in zip(model.weights, drawn(listed, seed), strict=True):
            variable.assign(values)
    return model


@contextmanager
def initialised_later() -> Iterator[None]:
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
