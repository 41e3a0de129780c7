"""Capture Keras normalization and scaling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import layers
from keras.src.applications.convnext import LayerScale, StochasticDepth
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._layers import Handler, array, common_order, identity
from assay.native.graph import Array
from assay.native.graph_builder import GraphBuilder, Order, Tensor


def _normalization(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    tensor = inputs[0]
    mean, variance = (
        np.asarray(keras.ops.convert_to_numpy(variable), np.float64)
        for variable in (layer.mean, layer.variance)
    )
    deviation = np.maximum(np.sqrt(variance), keras.config.epsilon())
    if mean.ndim > len(tensor.order):  # with an axis for the batch
        mean, deviation = mean[0], deviation[0]
    steps = [("subtract", mean), ("divide", deviation)]
    if layer.invert:
        steps = [("multiply", deviation), ("add", mean)]
    return apply_constants(builder, tensor, steps, name)


def apply_constants(
    builder: GraphBuilder, tensor: Tensor, steps: Sequence[tuple[Any, Array]], name: str
) -> Tensor:
    """Binary operations with constants, in order."""
    value = tensor.value
    for kind, numbers in steps:
        constant = builder.add_constant(f"{name}/{kind}", numbers, tensor.order)
        value = builder.add(name, ops.BinaryOp(kind), value, constant)
    return Tensor(value, tensor.order)


def _axes(axis: Any, order: Order) -> tuple[int, ...]:
    """Axes of the value; Keras counts the batch."""
    rank = len(order)
    axes = axis if isinstance(axis, list | tuple) else [axis]
    return tuple(sorted(order.index(index - 1 if index >= 0 else index + rank) for index in axes))


def _transpose_weight(weight: Any, axis: Any, order: Order) -> Array:
    """A weight over some axes, transposed to their order in the value."""
    axes = axis if isinstance(axis, list | tuple) else [axis]
    item_axes = [index - 1 if index >= 0 else index + len(order) for index in axes]
    permutation = [item_axes.index(order[index_in_order]) for index_in_order in _axes(axis, order)]
    return array(weight).transpose(permutation)


def _layer_norm(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    if layer.rms_scaling:
        raise unsupported("a LayerNormalization with rms_scaling", name, ("RMSNormalization",))
    order = inputs[0].order
    weights = {"gamma": layer.gamma, "beta": layer.beta}
    constants = {
        part: builder.constant(f"{name}/{part}", _transpose_weight(variable, layer.axis, order))
        for part, variable in weights.items()
        if variable is not None
    }
    axes, gamma, beta = (
        _axes(layer.axis, order),
        constants.get("gamma", ""),
        constants.get("beta", ""),
    )
    op = ops.LayerNormOp(axes, gamma, beta, layer.epsilon)
    return Tensor(builder.add(name, op, inputs[0].value), order)


def _rms_norm(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    order = inputs[0].order
    gamma = builder.constant(f"{name}/scale", _transpose_weight(layer.scale, layer.axis, order))
    axes = _axes(layer.axis, order)
    op = ops.LayerNormOp(axes, gamma, epsilon=layer.epsilon, centered=False)
    return Tensor(builder.add(name, op, inputs[0].value), order)


def _group_norm(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    """A layer norm of each group of channels, then scale and shift of each channel."""
    rank = len(inputs[0].order)
    (axis,) = _axes(layer.axis, tuple(range(rank)))
    order = (axis, *(other for other in range(rank) if other != axis))
    value = builder.reorder(inputs[0], order)
    shape = builder.shapes[value]
    groups = shape[0] if layer.groups == -1 else layer.groups
    split = (groups, shape[0] // groups, *shape[1:])
    value = builder.add(f"{name}/groups", ops.ReshapeOp(split), value)
    op = ops.LayerNormOp(tuple(range(1, len(split))), epsilon=layer.epsilon)
    value = builder.add(f"{name}/normal", op, value)
    value = builder.add(f"{name}/joined", ops.ReshapeOp(shape), value)
    steps: list[tuple[Any, Any]] = [("multiply", layer.gamma), ("add", layer.beta)]
    for kind, variable in steps:
        if variable is not None:
            wide = array(variable).reshape(-1, *(1,) * (rank - 1))
            constant = builder.add_constant(f"{name}/{kind}", wide, tuple(range(rank)))
            value = builder.add(name, ops.BinaryOp(kind), value, constant)
    return Tensor(value, order)


def _layer_scale(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    return apply_constants(builder, inputs[0], [("multiply", array(layer.gamma))], name)


def _custom_scale(builder: GraphBuilder, layer: Any, inputs: list[Tensor], name: str) -> Tensor:
    order = common_order(inputs)
    first, second = (Tensor(builder.reorder(tensor, order), order) for tensor in inputs)
    scaled = apply_constants(
        builder, second, [("multiply", np.asarray(layer.scale))], f"{name}/scaled"
    )
    return Tensor(builder.add(name, ops.BinaryOp("add"), first.value, scaled.value), order)


HANDLERS: dict[type, Handler] = {
    layers.Normalization: _normalization,
    layers.LayerNormalization: _layer_norm,
    layers.RMSNormalization: _rms_norm,
    layers.GroupNormalization: _group_norm,
    LayerScale: _layer_scale,
    StochasticDepth: identity,
    CustomScaleLayer: _custom_scale,
}
