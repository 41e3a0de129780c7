"""Weights to the layers of a model, or which layer they do not fit and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.weights.layers import Layer, by_layer, named


def assign(
    layers: Sequence[Layer], weights: Mapping[str, NDArray[Any]]
) -> list[list[NDArray[np.float32]]]:
    """For each layer, in the order given, its arrays in the order of its variables."""
    problems = list(misfits(layers, weights))
    if problems:
        more = f" ({len(problems) - 1} more do not fit.)" if len(problems) > 1 else ""
        raise UsageError(
            f"The weights do not fit the model: {problems[0]}.{more}",
            hint="Are they of this very network, with its number of classes?",
        )
    return [
        [np.asarray(weights[f"{name}/{variable}"], np.float32) for variable in layer.shapes]
        for name, layer in named(layers)
    ]


def misfits(layers: Sequence[Layer], weights: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Every difference, in words, in the order of the layers."""
    held = by_layer(weights)
    model = dict(named(layers))
    for name, layer in model.items():
        if name not in held:
            yield f"{_called(name, layer)} is not in them"
        else:
            yield from _differences(_called(name, layer), layer, held[name])
    for name in held:
        if name not in model:
            yield f"they hold {name}, which the model has not"


def _differences(called: str, layer: Layer, held: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    for variable, shape in layer.shapes.items():
        if variable not in held:
            yield f"{called} needs {variable} {shape}, but they have only {', '.join(held)}"
        elif held[variable].shape != tuple(shape):
            yield f"{called} needs {variable} {shape}, but theirs is {held[variable].shape}"
    for variable in held:
        if variable not in layer.shapes:
            yield f"they have {variable} {held[variable].shape}, but {called} has none"


def _called(name: str, layer: Layer) -> str:
    return f"layer {name} ('{layer.name}')" if layer.name not in {"", name} else f"layer {name}"
