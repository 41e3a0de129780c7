"""Keras layers that are not about pictures, each as operations of a graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import layers

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._activations import add_activation, add_softmax
from assay.native.graph import Array
from assay.native.graph_builder import Building, Tensor

# Adds a layer's operations and gives its output: of the graph, the layer, its inputs and its name
# with its models' (and arguments of the call, where `_understood.KEYWORDS` has some).
Handler = Callable[..., Tensor]


def array(variable: Any) -> Array:
    return np.asarray(keras.ops.convert_to_numpy(variable.value), np.float32)


def nothing(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    """A layer that does something in training only."""
    return given[0]


def _dense(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    if given[0].order == (2, 0, 1):  # a picture's channels: its pixels need not be turned
        return _pointwise(building, layer, given[0], name)
    op = ops.DenseOp(
        weight=building.constant(f"{name}/kernel", array(layer.kernel).T),
        bias=building.constant(f"{name}/bias", array(layer.bias)) if layer.use_bias else "",
    )
    made = Tensor(building.add(name, op, building.laid(given[0])), _plain(given[0]))
    return add_activation(building, layer.activation, made, name)


def _pointwise(building: Building, layer: Any, tensor: Tensor, name: str) -> Tensor:
    op = ops.ConvOp(
        weight=building.constant(f"{name}/kernel", array(layer.kernel).T[..., None, None]),
        bias=building.constant(f"{name}/bias", array(layer.bias)) if layer.use_bias else "",
    )
    made = Tensor(building.add(name, op, tensor.value), tensor.order)
    return add_activation(building, layer.activation, made, name)


def _batch_norm(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    rank = len(given[0].order)
    axis = (layer.axis if layer.axis >= 0 else layer.axis + rank + 1) - 1
    order = (axis, *(other for other in range(rank) if other != axis))
    parts = {"mean": layer.moving_mean, "variance": layer.moving_variance}
    parts |= {"gamma": layer.gamma} if layer.scale else {}
    parts |= {"beta": layer.beta} if layer.center else {}
    named = {part: building.constant(f"{name}/{part}", array(held)) for part, held in parts.items()}
    op = ops.BatchNormOp(**named, epsilon=layer.epsilon)  # type: ignore[arg-type]
    return Tensor(building.add(name, op, building.laid(given[0], order)), order)


def _rescaling(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    """x · scale + offset, as a batch norm whose statistics are those of nothing."""
    if np.ndim(layer.scale) or np.ndim(layer.offset):
        return _rescaling_by_channel(building, layer, given, name)
    value, order = given[0].value, given[0].order
    size = building.shapes[value][0]
    numbers = {"mean": 0, "variance": 1, "gamma": layer.scale, "beta": layer.offset}
    constants: dict[str, Any] = {
        part: building.constant(f"{name}/{part}", np.full(size, number))
        for part, number in numbers.items()
    }
    return Tensor(building.add(name, ops.BatchNormOp(**constants, epsilon=0.0), value), order)


def _rescaling_by_channel(
    building: Building,
    layer: Any,
    given: list[Tensor],
    name: str,
) -> Tensor:
    order, value = given[0].order, given[0].value
    steps: tuple[tuple[Any, Any], ...] = (("multiply", layer.scale), ("add", layer.offset))
    for kind, numbers in steps:
        held = building.fixed(f"{name}/{kind}", np.asarray(numbers, np.float32), order)
        value = building.add(name, ops.BinaryOp(kind), value, held)
    return Tensor(value, order)


def _activation(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    return add_activation(building, layer.activation, given[0], name, alone=True)


def _layer_as_activation(
    building: Building,
    layer: Any,
    given: list[Tensor],
    name: str,
) -> Tensor:
    return add_activation(building, layer, given[0], name, alone=True)


def _softmax(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    if not isinstance(layer.axis, int):
        raise unsupported(f"a Softmax over the axes {layer.axis}", name, ("one axis",))
    return add_softmax(building, layer.axis, given[0], name)


def _binary(kind: Any) -> Handler:
    """A layer of two or more inputs is a chain of operations of two."""

    def add(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
        if len({len(tensor.order) for tensor in given}) > 1:
            raise unsupported(f"{type(layer).__name__} of inputs of several ranks", name, ("one",))
        order = common_order(given)
        value = building.laid(given[0], order)
        for tensor in given[1:]:
            value = building.add(name, ops.BinaryOp(kind), value, building.laid(tensor, order))
        return Tensor(value, order)

    return add


def _concatenate(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    order = common_order(given)
    axis = order.index((layer.axis if layer.axis >= 0 else layer.axis + len(order) + 1) - 1)
    values = [building.laid(tensor, order) for tensor in given]
    return Tensor(building.add(name, ops.ConcatenateOp(axis), *values), order)


def _flatten(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    """Keras 3 flattens pictures as rows, columns, channels, whatever the data format."""
    rank = len(given[0].order)
    if layer.data_format == "channels_first" and rank > 1:
        value = building.laid(given[0], (*range(1, rank), 0))
    else:
        value = building.laid(given[0])
    shape = (math.prod(building.shapes[value]),)
    return Tensor(building.add(name, ops.ReshapeOp(shape), value), (0,))


def _reshape(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    value = building.laid(given[0])
    shape = tuple(np.empty(building.shapes[value]).reshape(layer.target_shape).shape)
    return Tensor(building.add(name, ops.ReshapeOp(shape), value), tuple(range(len(shape))))


def _permute(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    """Only a new way of counting the axes: nothing moves until someone needs it."""
    tensor = given[0]
    dims = [dim - 1 for dim in layer.dims]
    return Tensor(tensor.value, tuple(dims.index(axis) for axis in tensor.order))


def common_order(given: list[Tensor]) -> tuple[int, ...]:
    """That of most of them, so that the fewest have to be turned."""
    orders = [tensor.order for tensor in given]
    return max(orders, key=orders.count)


def _plain(tensor: Tensor) -> tuple[int, ...]:
    return tuple(range(len(tensor.order)))


def _average(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    total = _binary("add")(building, layer, given, f"{name}/sum")
    share = building.fixed(f"{name}/share", np.float32(1 / len(given)), total.order)
    return Tensor(building.add(name, ops.BinaryOp("multiply"), total.value, share), total.order)


HANDLERS: dict[type, Handler] = {
    layers.Add: _binary("add"),
    layers.Subtract: _binary("subtract"),
    layers.Multiply: _binary("multiply"),
    layers.Maximum: _binary("maximum"),
    layers.Minimum: _binary("minimum"),
    layers.Average: _average,
    layers.Dense: _dense,
    layers.BatchNormalization: _batch_norm,
    layers.Rescaling: _rescaling,
    layers.Activation: _activation,
    layers.ReLU: _layer_as_activation,
    layers.LeakyReLU: _layer_as_activation,
    layers.ELU: _layer_as_activation,
    layers.Softmax: _softmax,
    layers.Concatenate: _concatenate,
    layers.Flatten: _flatten,
    layers.Reshape: _reshape,
    layers.Permute: _permute,
    layers.InputLayer: nothing,
    layers.Identity: nothing,
    layers.Dropout: nothing,
    layers.SpatialDropout1D: nothing,
    layers.SpatialDropout2D: nothing,
    layers.AlphaDropout: nothing,
    layers.GaussianDropout: nothing,
    layers.GaussianNoise: nothing,
    layers.ActivityRegularization: nothing,
}
