"""Operators of ONNX on integers, and on what is true or false: both are kept as floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assay.native import ops
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import Importing, item_axis, refused

Handler = Callable[[Importing, OnnxOp], str]
_FLOATS, _INTEGERS, _TRUTH = {1, 10, 11}, {6, 7}, 9  # of TensorProto.DataType

# What gives integers of integers; Div does too, and is another operation then.
_MOVING = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Concat", "Slice", "Split", "Gather"}
_MOVING |= {"Expand", "Identity", "Flatten", "GatherElements"}
_EXACT = {"Add", "Sub", "Mul", "Neg", "Abs", "Max", "Min", "CumSum", "Sum", "Where", "ReduceSum"}
_TRUE_OR_FALSE = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or"}


def note_whole(model: Importing, node: OnnxOp) -> None:
    """Remember that a node's outputs are integers, where they are."""
    casts = node.kind == "Cast" and node.attributes["to"] in (*_INTEGERS, _TRUTH)
    known = (model.known[name] for name in node.inputs if name in model.known)
    of_whole = all(name in model.whole for name in node.inputs if name in model.values) and all(
        not np.issubdtype(each.dtype, np.floating) for each in known
    )
    table = node.kind == "Gather" and node.inputs[0] in model.known
    if of_whole and not table and node.kind == "Div":
        raise refused(node, "it divides integers")
    keeps = of_whole and not table and node.kind in _MOVING | _EXACT
    if casts or keeps or node.kind in _TRUE_OR_FALSE:
        model.whole |= set(node.outputs)


def _cast(model: Importing, node: OnnxOp) -> str:
    """Numbers stay what they are, if they fit the type."""
    name, to = node.inputs[0], node.attributes["to"]
    value = model.values[name]
    if to == _TRUTH and name in model.whole:
        return _not(model, node, _compared("equal", model, node, value, _fixed(model, node, 0.0)))
    if to not in _FLOATS | _INTEGERS or (to in _INTEGERS and name not in model.whole):
        raise refused(node, f"it casts to ONNX's type {to}")
    return value


def _fixed(model: Importing, node: OnnxOp, number: float) -> str:
    return model.fixed(node, number, len(model.shape(model.values[node.inputs[0]])))


def _compared(kind: Any, model: Importing, node: OnnxOp, first: str, second: str) -> str:
    return model.add(node, ops.BinaryOp(kind), first, second)


def _comparing(kind: str, turned: bool = False) -> Handler:
    """`a > b` is `b < a`."""

    def add(model: Importing, node: OnnxOp) -> str:
        first, second = model.pair(node, node.inputs)
        return _compared(kind, model, node, *((second, first) if turned else (first, second)))

    return add


def _combining(kind: Any) -> Handler:
    def add(model: Importing, node: OnnxOp) -> str:
        return model.add(node, ops.BinaryOp(kind), *model.pair(node, node.inputs))

    return add


def _not(model: Importing, node: OnnxOp, value: str = "") -> str:
    held = value or model.values[node.inputs[0]]
    return model.add(node, ops.BinaryOp("subtract"), _fixed(model, node, 1.0), held)


def _running_sum(model: Importing, node: OnnxOp) -> str:
    """A product with a triangle of ones: exact for integers, and only for those."""
    name = node.inputs[0]
    shape = model.shape(model.values[name])
    axis = item_axis(node, int(model.known[node.inputs[1]].item()), len(shape))
    if name not in model.whole or axis != len(shape) - 1:
        raise refused(node, "only integers can be summed up so, along the last axis")
    without = int(node.attributes.get("exclusive", 0))
    backwards = node.attributes.get("reverse", 0)
    cut, offset = (np.triu, without) if backwards else (np.tril, -without)
    held = cut(np.ones((shape[-1], shape[-1]), np.float32), offset)
    weight = model.building.constant(f"{node.outputs[0]}/sums", held)
    return model.add(node, ops.DenseOp(weight), model.values[name])


def _gather_elements(model: Importing, node: OnnxOp) -> str:
    """Numbers of a known row, which is the same for every item, by their places."""
    table, places = node.inputs
    if table not in model.known or places not in model.values:
        raise refused(node, "only numbers of a known row can be looked up so")
    held, shape = model.known[table], model.shape(model.values[places])
    last = node.attributes.get("axis", 0) in (-1, held.ndim - 1)
    rows = held.reshape(-1, held.shape[-1])
    if not last or len(shape) != 1 or held.ndim != 2 or (rows != rows[:1]).any():
        raise refused(node, f"a table of {held.shape} by places of {shape}")
    weight = model.building.constant(f"{node.outputs[0]}/row", rows[0][:, None])
    found = model.add(node, ops.EmbeddingOp(weight), model.values[places])
    return model.add(node, ops.ReshapeOp(shape), found)


HANDLERS: dict[str, Handler] = {
    "GatherElements": _gather_elements,
    "Cast": _cast,
    "Equal": _comparing("equal"),
    "Less": _comparing("less"),
    "LessOrEqual": _comparing("less_equal"),
    "Greater": _comparing("less", turned=True),
    "GreaterOrEqual": _comparing("less_equal", turned=True),
    "Not": _not,
    "And": _combining("multiply"),
    "Or": _combining("maximum"),
    "CumSum": _running_sum,
}
