"""Assign weights to the layers of a model, or explain mismatches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.core.errors import UsageError
from assay.weights.layers import Layer, by_layer, name_layers


def assign(
    layers: Sequence[Layer], weights: Mapping[str, NDArray[Any]]
) -> list[list[NDArray[np.float32]]]:
    """Arrays of each layer, in the order of its variables."""
    problems = list(shape_mismatches(layers, weights))
    if problems:
        more = f" ({len(problems) - 1} more do not fit.)" if len(problems) > 1 else ""
        raise UsageError(
            f"The weights do not fit the model: {problems[0]}.{more}",
            hint="Are they of this network, with its number of classes?",
        )
    return [
        [np.asarray(weights[f"{name}/{variable}"], np.float32) for variable in layer.shapes]
        for name, layer in name_layers(layers)
    ]


def shape_mismatches(layers: Sequence[Layer], weights: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    """Sentences about all mismatches, in the order of the layers."""
    stored = by_layer(weights)
    model = dict(name_layers(layers))
    for name, layer in model.items():
        if name not in stored:
            yield f"{_layer_title(name, layer)} is missing"
        else:
            yield from _differences(_layer_title(name, layer), layer, stored[name])
    for name in stored:
        if name not in model:
            yield f"they have {name}, but the model does not"


def _differences(title: str, layer: Layer, stored: Mapping[str, NDArray[Any]]) -> Iterator[str]:
    for variable, shape in layer.shapes.items():
        if variable not in stored:
            yield f"{title} needs {variable} {shape}, but they have only {', '.join(stored)}"
        elif stored[variable].shape != tuple(shape):
            yield f"{title} needs {variable} {shape}, but theirs is {stored[variable].shape}"
    for variable in stored:
        if variable not in layer.shapes:
            yield f"they have {variable} {stored[variable].shape}, but {title} has none"


def _layer_title(name: str, layer: Layer) -> str:
    return f"layer {name} ('{layer.name}')" if layer.name not in {"", name} else f"layer {name}"
