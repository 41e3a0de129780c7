"""Weights by name, `<kind>_<n>/<variable>`: layers counted from 1 per kind in order of creation.

Axes are as Keras has them with channels last: (kh, kw, in, out), and the rows of a dense layer
after a flatten in the order rows, columns, channels. Every format is read into and written from it.
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
    """One layer of a model, as far as its weights are concerned."""

    kind: str
    shapes: Mapping[str, Shape]  # variable → shape, in the model's order
    flattened: Shape = ()  # rows, columns, channels of the map that was flattened before it
    name: str = ""  # what the model calls it


@dataclass(frozen=True)
class Stored:
    """One layer of a file, under the name it has there."""

    kind: str
    name: str
    variables: Mapping[str, NDArray[Any]] = field(default_factory=dict)


def named(layers: Sequence[Layer]) -> Iterator[tuple[str, Layer]]:
    """Layers in order of creation, each with its name here."""
    counts: dict[str, int] = {}
    for layer in layers:
        counts[layer.kind] = counts.get(layer.kind, 0) + 1
        yield f"{layer.kind}_{counts[layer.kind]}", layer


def canonical(stored: Iterable[Stored]) -> Weights:
    """The layers of a file, renamed; the file's order is kept."""
    layers = list(stored)
    number = {id(layer): count for layer, count in _counted(layers)}
    return {
        f"{layer.kind}_{number[id(layer)]}/{variable}": array
        for layer in layers
        for variable, array in layer.variables.items()
    }


def creation_order(names: Sequence[str], kind: str) -> list[int]:
    """Positions of the layers of one kind in order of creation.

    Keras numbers names as it creates layers (conv2d, conv2d_1, …), but keeps a branched model's
    layers in another order. Names a user chose tell nothing: then the given order stands.
    """
    numbers = [re.fullmatch(rf"{kind}(?:_(\d+))?", name) for name in names]
    if not all(numbers):
        return list(range(len(names)))
    return sorted(range(len(names)), key=lambda at: int((numbers[at] or [0, 0])[1] or 0))


def snake_case(name: str) -> str:
    """A class name as Keras makes layer names of it: DepthwiseConv2D → depthwise_conv2d."""
    apart = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", apart).lower()


def by_layer(weights: Mapping[str, NDArray[Any]]) -> dict[str, dict[str, NDArray[Any]]]:
    """Layer → variable → array."""
    found: dict[str, dict[str, NDArray[Any]]] = {}
    for key, array in weights.items():
        layer, slash, variable = key.rpartition("/")
        if not slash or not re.fullmatch(r"\w+_\d+", layer):
            raise UsageError(
                f"The weights hold '{key}', which is no <kind>_<n>/<variable>.",
                hint="Such as conv2d_1/kernel.",
            )
        found.setdefault(layer, {})[variable] = array
    return found


def kind_of(name: str) -> str:
    """conv2d_3 → conv2d."""
    return name.rpartition("_")[0]


def _counted(layers: Sequence[Stored]) -> Iterator[tuple[Stored, int]]:
    for kind in dict.fromkeys(layer.kind for layer in layers):
        alike = [layer for layer in layers if layer.kind == kind]
        for count, at in enumerate(creation_order([layer.name for layer in alike], kind), 1):
            yield alike[at], count
