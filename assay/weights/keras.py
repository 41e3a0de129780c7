"""A Keras model's own weights; only a worker loads this file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np
from numpy.typing import NDArray

from assay.core.files import user_file
from assay.weights import files
from assay.weights.fit import assign
from assay.weights.layers import Layer, Shape, Weights, creation_order, name_layers, snake_case


def load(model: keras.Model, path: str | Path) -> None:
    """Set a model's weights from any file."""
    set_weights(model, files.read(path, layers_of(model)))


def save(model: keras.Model, path: str | Path) -> None:
    """Save weights; Keras writes its own formats."""
    if str(path).endswith(".keras"):
        with user_file(path) as temporary:
            model.save(temporary)
    elif str(path).endswith(".weights.h5"):
        with user_file(path) as temporary:
            model.save_weights(temporary)
    else:
        maps = {
            name: layer.flattened
            for name, layer in name_layers(layers_of(model))
            if layer.flattened
        }
        files.write(path, weights_of(model), maps)


def set_weights(model: keras.Model, weights: Mapping[str, NDArray[Any]]) -> None:
    for layer, arrays in zip(
        _layers_by_creation(model), assign(layers_of(model), weights), strict=True
    ):
        layer.set_weights(arrays)


def weights_of(model: keras.Model) -> Weights:
    """Weights in the model's order, as Keras writes them."""
    names = {
        id(keras_layer): (name, tuple(layer.shapes))
        for (name, layer), keras_layer in zip(
            name_layers(layers_of(model)), _layers_by_creation(model), strict=True
        )
    }
    return {
        f"{names[id(keras_layer)][0]}/{variable}": np.asarray(array, np.float32)
        for keras_layer in _leaves(model)
        for variable, array in zip(
            names[id(keras_layer)][1], keras_layer.get_weights(), strict=True
        )
    }


def layers_of(model: keras.Model) -> list[Layer]:
    """Layers with weights, in order of creation within each kind."""
    return [
        Layer(
            kind=_kind(layer),
            shapes={weight.name: tuple(weight.shape) for weight in layer.weights},
            flattened=_flattened_shape(layer),
            name=layer.name,
        )
        for layer in _layers_by_creation(model)
    ]


def _layers_by_creation(model: keras.Model) -> list[Any]:
    """Layers by kind, in order of creation."""
    layers = list(_leaves(model))
    ordered = []
    for kind in dict.fromkeys(map(_kind, layers)):
        same_kind = [layer for layer in layers if _kind(layer) == kind]
        ordered += [
            same_kind[index] for index in creation_order([layer.name for layer in same_kind], kind)
        ]
    return ordered


def _leaves(model: Any) -> Iterator[Any]:
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from _leaves(layer)
        elif layer.weights:
            yield layer


def _kind(layer: Any) -> str:
    return snake_case(type(layer).__name__)


def _flattened_shape(layer: Any) -> Shape:
    """Rows, columns, channels of the map flattened before a dense layer.

    Keras 3 flattens in this order in either data format, so its rows need no change.
    """
    while isinstance(layer, keras.layers.Dense | keras.layers.Dropout | keras.layers.Activation):
        before = layer.input
        layer = before._keras_history.operation
        if isinstance(layer, keras.layers.Flatten):
            shape = tuple(layer.input.shape[1:])
            first = layer.data_format == "channels_first"
            return ((*shape[1:], shape[0]) if first else shape) if len(shape) == 3 else ()
        if isinstance(layer, keras.layers.Dense):
            return ()
    return ()
