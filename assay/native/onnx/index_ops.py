"""Operators of ONNX that compute positions, or compare with them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from assay.native import ops
from assay.native.onnx.composite_ops import Handler, binary, select
from assay.native.onnx.model import OnnxOp, check_size
from assay.native.onnx.read import Importing


def _positions(model: Importing, node: OnnxOp, axis: int, size: int, rank: int) -> str:
    """0, 1, 2, … along an axis."""
    shape = [1] * rank
    shape[axis] = size
    return model.as_constant(node, np.arange(*check_size((size,))).reshape(shape), rank)


def _extreme(model: Importing, node: OnnxOp, value: str, axis: int, largest: bool) -> str:
    """Position of the largest or smallest number along an axis, which stays with size 1."""
    shape = model.shape(value)
    extreme = model.add(node, ops.ReduceOp("max" if largest else "min", (axis,)), value)
    pair = (value, extreme) if largest else (extreme, value)
    others = model.add(node, ops.BinaryOp("less"), *pair)  # none beside a NaN
    positions = _positions(model, node, axis, shape[axis], len(shape))
    last = node.attributes.get("select_last_index", 0)
    outside = model.as_constant(node, -1 if last else shape[axis], len(shape))
    candidates = select(model, node, others, outside, positions)
    return model.add(node, ops.ReduceOp("max" if last else "min", (axis,)), candidates)


def _arg(largest: bool) -> Handler:
    def add(model: Importing, node: OnnxOp) -> str:
        value = model.values[node.inputs[0]]
        shape = model.shape(value)
        axis = model.item_axis(node, node.attributes.get("axis", 0), len(shape))
        position = _extreme(model, node, value, axis, largest)
        if node.attributes.get("keepdims", 1):
            return position
        return model.item(node, position, (*shape[:axis], *shape[axis + 1 :]))

    return add


def _hardmax(model: Importing, node: OnnxOp) -> str:
    """1 at the first of the largest numbers, else 0; before opset 13 over all axes from one on."""
    value = model.values[node.inputs[0]]
    shape, old = model.shape(value), node.opset < 13
    axis = model.item_axis(node, node.attributes.get("axis", 1 if old else -1), len(shape))
    joined = (*shape[:axis], math.prod(shape[axis:])) if old else shape
    value = model.add(node, ops.ReshapeOp(joined), value) if joined != shape else value
    position = _extreme(model, node, value, axis, largest=True)
    positions = _positions(model, node, axis, joined[axis], len(joined))
    value = binary(model, node, "equal", positions, position)
    return model.add(node, ops.ReshapeOp(shape), value) if joined != shape else value


def _one_hot(model: Importing, node: OnnxOp) -> str:
    """Positions that do not exist are nowhere, those between two also, as in ONNX Runtime."""
    depth, (off, on) = int(model.weight(node, 1).item()), model.weight(node, 2).tolist()
    value = model.values[node.inputs[0]]
    rank = len(model.shape(value)) + 1
    axis = model.item_axis(node, node.attributes.get("axis", -1), rank)
    shape = [*model.shape(value)]
    shape.insert(axis, 1)
    value = model.add(node, ops.ReshapeOp(tuple(shape)), value)
    positions = _positions(model, node, axis, depth, rank)
    hits = binary(model, node, "equal", value, positions)
    from_end = binary(model, node, "subtract", positions, float(depth))
    hits = binary(model, node, "add", hits, binary(model, node, "equal", value, from_end))
    numbers = (model.as_constant(node, number, rank) for number in (on, off))
    return select(model, node, hits, *numbers)


HANDLERS: dict[str, Callable[[Importing, OnnxOp], str]] = {
    "ArgMax": _arg(largest=True),
    "ArgMin": _arg(largest=False),
    "Hardmax": _hardmax,
    "OneHot": _one_hot,
}
