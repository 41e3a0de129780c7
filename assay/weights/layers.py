"""Weights by name, `<kind>_<n>/<variable>`: layers counted from 1 per kind in order of creation.

Axes are as Keras has them with channels last: (kh, kw, in, out), and the rows of a dense layer
after a flatten in the order rows, columns, channels. All formats are converted to and from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from assay.core.errors import UsageError

Shape = tuple[int, ...]
Weights = dict[str, NDArray[Any]]

_KERNEL = ("kernel", "bias")
# Kind → its variables in Keras' order; trailing ones may be absent.
VARIABLES: dict[str, tuple[str, ...]] = {
    "conv1d": _KERNEL,
    "conv2d": _KERNEL,
    "conv2d_transpose": _KERNEL,
    "depthwise_conv2d": _KERNEL,
    "dense": _KERNEL,
    "batch_normalization": ("gamma", "beta", "moving_mean", "moving_variance"),
    "layer_normalization": ("gamma", "beta"),
    "embedding": ("embeddings",),
}


@dataclass(frozen=True)
class Layer:
    """The weights of one layer of a model."""

    kind: str
    shapes: Mapping[str, Shape]  # variable → shape, in the model's order
    flattened: Shape = ()  # rows, columns, channels of the map that was flattened before it
    name: str = ""  # in the model


@dataclass(frozen=True)
class StoredLayer:
    """One layer of a file, with its name there."""

    kind: str
    name: str
    variables: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def name_layers(layers: Sequence[Layer]) -> Iterator[tuple[str, Layer]]:
    """Layers in order of creation, with canonical names."""
    counts: dict[str, int] = {}
    for layer in layers:
        counts[layer.kind] = counts.get(layer.kind, 0) + 1
        yield f"{layer.kind}_{counts[layer.kind]}", layer


def canonical_weights(stored: Iterable[StoredLayer]) -> Weights:
    """Rename the layers of a file to canonical names, in the file's order."""
    layers = list(stored)
    number = {id(layer): count for layer, count in _number_layers(layers)}
    return {
        f"{layer.kind}_{number[id(layer)]}/{variable}": array
        for layer in layers
        for variable, array in layer.variables.items()
    }


def creation_order(names: Sequence[str], kind: str) -> list[int]:
    """Positions of the layers of one kind in order of creation.

    Keras numbers names as it creates layers (conv2d, conv2d_1, …), but keeps a branched model's
    layers in another order. With names of a user, the order is unchanged.
    """
    numbers = [re.fullmatch(rf"{kind}(?:_(\d+))?", name) for name in names]
    if not all(numbers):
        return list(range(len(names)))
    return sorted(range(len(names)), key=lambda index: int((numbers[index] or [0, 0])[1] or 0))


def snake_case(name: str) -> str:
    """Class name → layer name as in Keras: DepthwiseConv2D → depthwise_conv2d."""
    separated = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", separated).lower()


def by_layer(weights: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, NDArray[Any]]]:
    """Layer → variable → array."""
    layers: dict[str, dict[str, NDArray[Any]]] = {}
    for key, array in weights.items():
        layer, slash, variable = key.rpartition("/")
        if not slash or not re.fullmatch(r"\w+_\d+", layer):
            raise UsageError(
                f"The weights have '{key}', which is no <kind>_<n>/<variable>.",
                hint="Such as conv2d_1/kernel.",
            )
        layers.setdefault(layer, {})[variable] = array
    return layers


def kind_of(name: str) -> str:
    """conv2d_3 → conv2d."""
    return name.rpartition("_")[0]


def _number_layers(layers: Sequence[StoredLayer]) -> Iterator[tuple[StoredLayer, int]]:
    for kind in dict.fromkeys(layer.kind for layer in layers):
        same_kind = [layer for layer in layers if layer.kind == kind]
        for count, index in enumerate(creation_order([layer.name for layer in same_kind], kind), 1):
            yield same_kind[index], count
