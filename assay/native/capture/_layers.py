"""Capture Keras layers that are not specific to images."""

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
from assay.native.graph_builder import GraphBuilder, Tensor

# Adds a layer's operations and returns its output. Arguments: the graph builder, the layer, its
# inputs, its name with those of its models (and keywords of the call in `_supported.KEYWORDS`).
Handler = Callable[..., Tensor]


def array(variable: Any) -> Array:
    return np.asarray(keras.ops.convert_to_numpy(variable.value), np.float32)


def identity(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    """A layer that is the identity in inference."""
    return inputs[0]


def _dense(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    if inputs[0].order == (2, 0, 1):  # channels of an image: needs no transpose
        return _pointwise(builder, layer, inputs[0], name)
    op = ops.DenseOp(
        weight=builder.constant(f"{name}/kernel", array(layer.kernel).T),
        bias=builder.constant(f"{name}/bias", array(layer.bias)) if layer.use_bias else "",
    )
    output = Tensor(builder.add(name, op, builder.reorder(inputs[0])), _identity_order(inputs[0]))
    return add_activation(builder, layer.activation, output, name)


def _pointwise(builder: GraphBuilder, layer: Any, tensor: Tensor, name: str) -> Tensor:
    op = ops.ConvOp(
        weight=builder.constant(f"{name}/kernel", array(layer.kernel).T[..., None, None]),
        bias=builder.constant(f"{name}/bias", array(layer.bias)) if layer.use_bias else "",
    )
    output = Tensor(builder.add(name, op, tensor.value), tensor.order)
    return add_activation(builder, layer.activation, output, name)


def _batch_norm(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    rank = len(inputs[0].order)
    axis = (layer.axis if layer.axis >= 0 else layer.axis + rank + 1) - 1
    order = (axis, *(other for other in range(rank) if other != axis))
    parts = {"mean": layer.moving_mean, "variance": layer.moving_variance}
    parts |= {"gamma": layer.gamma} if layer.scale else {}
    parts |= {"beta": layer.beta} if layer.center else {}
    constants = {
        part: builder.constant(f"{name}/{part}", array(variable))
        for part, variable in parts.items()
    }
    op = ops.BatchNormOp(**constants, epsilon=layer.epsilon)  # type: ignore[arg-type]
    return Tensor(builder.add(name, op, builder.reorder(inputs[0], order)), order)


def _rescaling(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    """x · scale + offset, as a batch norm of mean 0 and variance 1."""
    if np.ndim(layer.scale) or np.ndim(layer.offset):
        return _rescaling_by_channel(builder, layer, inputs, name)
    value, order = inputs[0].value, inputs[0].order
    size = builder.shapes[value][0]
    numbers = {"mean": 0, "variance": 1, "gamma": layer.scale, "beta": layer.offset}
    constants: dict[str, Any] = {
        part: builder.constant(f"{name}/{part}", np.full(size, number))
        for part, number in numbers.items()
    }
    return Tensor(builder.add(name, ops.BatchNormOp(**constants, epsilon=0.0), value), order)


def _rescaling_by_channel(
    builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str
) -> Tensor:
    order, value = inputs[0].order, inputs[0].value
    steps: tuple[tuple[Any, Any], ...] = (("multiply", layer.scale), ("add", layer.offset))
    for kind, numbers in steps:
        constant = builder.add_constant(f"{name}/{kind}", np.asarray(numbers, np.float32), order)
        value = builder.add(name, ops.BinaryOp(kind), value, constant)
    return Tensor(value, order)


def _activation(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    return add_activation(builder, layer.activation, inputs[0], name, alone=True)


def _layer_as_activation(
    builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str
) -> Tensor:
    return add_activation(builder, layer, inputs[0], name, alone=True)


def _softmax(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    if not isinstance(layer.axis, int):
        raise unsupported(f"a Softmax over the axes {layer.axis}", name, ("one axis",))
    return add_softmax(builder, layer.axis, inputs[0], name)


def _binary(kind: Any) -> Handler:
    """A layer of two or more inputs becomes a chain of binary operations."""

    def add(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
        if len({len(tensor.order) for tensor in inputs}) > 1:
            raise unsupported(f"{type(layer).__name__} of inputs of several ranks", name, ("one",))
        order = common_order(inputs)
        value = builder.reorder(inputs[0], order)
        for tensor in inputs[1:]:
            value = builder.add(name, ops.BinaryOp(kind), value, builder.reorder(tensor, order))
        return Tensor(value, order)

    return add


def _concatenate(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    order = common_order(inputs)
    axis = order.index((layer.axis if layer.axis >= 0 else layer.axis + len(order) + 1) - 1)
    values = [builder.reorder(tensor, order) for tensor in inputs]
    return Tensor(builder.add(name, ops.ConcatenateOp(axis), *values), order)


def _flatten(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    """Keras 3 flattens images as rows, columns, channels, whatever the data format."""
    rank = len(inputs[0].order)
    if layer.data_format == "channels_first" and rank > 1:
        value = builder.reorder(inputs[0], (*range(1, rank), 0))
    else:
        value = builder.reorder(inputs[0])
    shape = (math.prod(builder.shapes[value]),)
    return Tensor(builder.add(name, ops.ReshapeOp(shape), value), (0,))


def _reshape(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    value = builder.reorder(inputs[0])
    shape = tuple(np.empty(builder.shapes[value]).reshape(layer.target_shape).shape)
    return Tensor(builder.add(name, ops.ReshapeOp(shape), value), tuple(range(len(shape))))


def _permute(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    """A new order of the axes; data moves only when an operation needs it."""
    tensor = inputs[0]
    dims = [dim - 1 for dim in layer.dims]
    return Tensor(tensor.value, tuple(dims.index(axis) for axis in tensor.order))


def common_order(inputs: list[Tensor]) -> tuple[int, ...]:
    """The most frequent order, so that the fewest inputs are transposed."""
    orders = [tensor.order for tensor in inputs]
    return max(orders, key=orders.count)


def _identity_order(tensor: Tensor) -> tuple[int, ...]:
    return tuple(range(len(tensor.order)))


def _average(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    total = _binary("add")(builder, layer, inputs, f"{name}/sum")
    share = builder.add_constant(f"{name}/share", np.float32(1 / len(inputs)), total.order)
    return Tensor(builder.add(name, ops.BinaryOp("multiply"), total.value, share), total.order)


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
    layers.InputLayer: identity,
    layers.Identity: identity,
    layers.Dropout: identity,
    layers.SpatialDropout1D: identity,
    layers.SpatialDropout2D: identity,
    layers.AlphaDropout: identity,
    layers.GaussianDropout: identity,
    layers.GaussianNoise: identity,
    layers.ActivityRegularization: identity,
}
