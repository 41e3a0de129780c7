"""Keras layers that set numbers in relation to others, or multiply them by known ones."""

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
from assay.native.capture._layers import Handler, array, common_order, nothing
from assay.native.graph import Array
from assay.native.graph_builder import Building, Order, Tensor


def _normalization(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    tensor = given[0]
    mean, variance = (
        np.asarray(keras.ops.convert_to_numpy(held), np.float64)
        for held in (layer.mean, layer.variance)
    )
    deviation = np.maximum(np.sqrt(variance), keras.config.epsilon())
    if mean.ndim > len(tensor.order):  # with an axis for the batch
        mean, deviation = mean[0], deviation[0]
    steps = [("subtract", mean), ("divide", deviation)]
    if layer.invert:
        steps = [("multiply", deviation), ("add", mean)]
    return by_known(building, tensor, steps, name)


def by_known(
    building: Building, tensor: Tensor, steps: Sequence[tuple[Any, Array]], name: str
) -> Tensor:
    """Combined with known numbers, one step after the other."""
    value = tensor.value
    for kind, numbers in steps:
        held = building.fixed(f"{name}/{kind}", numbers, tensor.order)
        value = building.add(name, ops.BinaryOp(kind), value, held)
    return Tensor(value, tensor.order)


def _axes(axis: Any, order: Order) -> tuple[int, ...]:
    """Of the value; Keras counts the batch."""
    rank = len(order)
    told = axis if isinstance(axis, list | tuple) else [axis]
    return tuple(sorted(order.index(each - 1 if each >= 0 else each + rank) for each in told))


def _laid_weight(held: Any, axis: Any, order: Order) -> Array:
    """A weight over some axes, in the order in which the value has them."""
    told = axis if isinstance(axis, list | tuple) else [axis]
    own = [each - 1 if each >= 0 else each + len(order) for each in told]
    found = [own.index(order[place]) for place in _axes(axis, order)]
    return array(held).transpose(found)


def _layer_norm(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    if layer.rms_scaling:
        raise unsupported("a LayerNormalization with rms_scaling", name, ("RMSNormalization",))
    order = given[0].order
    weights = {"gamma": layer.gamma, "beta": layer.beta}
    named = {
        part: building.constant(f"{name}/{part}", _laid_weight(held, layer.axis, order))
        for part, held in weights.items()
        if held is not None
    }
    axes, gamma, beta = _axes(layer.axis, order), named.get("gamma", ""), named.get("beta", "")
    op = ops.LayerNormOp(axes, gamma, beta, layer.epsilon)
    return Tensor(building.add(name, op, given[0].value), order)


def _rms_norm(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    order = given[0].order
    gamma = building.constant(f"{name}/scale", _laid_weight(layer.scale, layer.axis, order))
    axes = _axes(layer.axis, order)
    op = ops.LayerNormOp(axes, gamma, epsilon=layer.epsilon, centered=False)
    return Tensor(building.add(name, op, given[0].value), order)


def _group_norm(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    """A layer norm of each group of channels, then a factor and a sum for each channel."""
    rank = len(given[0].order)
    (axis,) = _axes(layer.axis, tuple(range(rank)))
    order = (axis, *(other for other in range(rank) if other != axis))
    value = building.laid(given[0], order)
    shape = building.shapes[value]
    groups = shape[0] if layer.groups == -1 else layer.groups
    split = (groups, shape[0] // groups, *shape[1:])
    value = building.add(f"{name}/groups", ops.ReshapeOp(split), value)
    op = ops.LayerNormOp(tuple(range(1, len(split))), epsilon=layer.epsilon)
    value = building.add(f"{name}/normal", op, value)
    value = building.add(f"{name}/joined", ops.ReshapeOp(shape), value)
    steps: list[tuple[Any, Any]] = [("multiply", layer.gamma), ("add", layer.beta)]
    for kind, held in steps:
        if held is not None:
            wide = array(held).reshape(-1, *(1,) * (rank - 1))
            fixed = building.fixed(f"{name}/{kind}", wide, tuple(range(rank)))
            value = building.add(name, ops.BinaryOp(kind), value, fixed)
    return Tensor(value, order)


def _layer_scale(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    return by_known(building, given[0], [("multiply", array(layer.gamma))], name)


def _custom_scale(building: Building, layer: Any, given: list[Tensor], name: str) -> Tensor:
    order = common_order(given)
    first, second = (Tensor(building.laid(tensor, order), order) for tensor in given)
    scaled = by_known(building, second, [("multiply", np.asarray(layer.scale))], f"{name}/scaled")
    return Tensor(building.add(name, ops.BinaryOp("add"), first.value, scaled.value), order)


HANDLERS: dict[type, Handler] = {
    layers.Normalization: _normalization,
    layers.LayerNormalization: _layer_norm,
    layers.RMSNormalization: _rms_norm,
    layers.GroupNormalization: _group_norm,
    LayerScale: _layer_scale,
    StochasticDepth: nothing,
    CustomScaleLayer: _custom_scale,
}
