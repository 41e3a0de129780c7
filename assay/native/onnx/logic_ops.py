"""Operators of ONNX on integers, and on what is true or false: both are kept as floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assay.native import ops
from assay.native.onnx.integers import BOOL
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import Importing, refusal

Handler = Callable[[Importing, OnnxOp], str]


def _cast(model: Importing, node: OnnxOp) -> str:
    """Numbers stay what they are: `note_integers` refuses those that do not fit the type."""
    name = node.inputs[0]
    value = model.values[name]
    kept = name in model.integers and model.integers[name].type == BOOL
    if node.attributes["to"] != BOOL or kept:
        return value
    return _not(model, node, _compare("equal", model, node, value, _constant(model, node, 0.0)))


def _constant(model: Importing, node: OnnxOp, number: float) -> str:
    return model.as_constant(node, number, len(model.shape(model.values[node.inputs[0]])))


def _compare(kind: Any, model: Importing, node: OnnxOp, first: str, second: str) -> str:
    return model.add(node, ops.BinaryOp(kind), first, second)


def _comparing(kind: str, turned: bool = False) -> Handler:
    """`a > b` is `b < a`."""

    def add(model: Importing, node: OnnxOp) -> str:
        first, second = model.pair(node, node.inputs)
        return _compare(kind, model, node, *((second, first) if turned else (first, second)))

    return add


def _combining(kind: Any) -> Handler:
    def add(model: Importing, node: OnnxOp) -> str:
        return model.add(node, ops.BinaryOp(kind), *model.pair(node, node.inputs))

    return add


def _not(model: Importing, node: OnnxOp, value: str = "") -> str:
    value = value or model.values[node.inputs[0]]
    return model.add(node, ops.BinaryOp("subtract"), _constant(model, node, 1.0), value)


def _running_sum(model: Importing, node: OnnxOp) -> str:
    """A product with a triangle of ones: exact for integers, and only for those."""
    name = node.inputs[0]
    shape = model.shape(model.values[name])
    axis = model.item_axis(node, int(model.weight(node, 1).item()), len(shape))
    if name not in model.integers or axis != len(shape) - 1:
        raise refusal(node, "only integers can be added up, along the last axis")
    exclusive = int(node.attributes.get("exclusive", 0))
    reverse = node.attributes.get("reverse", 0)
    cut, offset = (np.triu, exclusive) if reverse else (np.tril, -exclusive)
    triangle = cut(np.ones((shape[-1], shape[-1]), np.float32), offset)
    weight = model.building.constant(f"{node.outputs[0]}/sums", triangle)
    return model.add(node, ops.DenseOp(weight), model.values[name])


def _gather_elements(model: Importing, node: OnnxOp) -> str:
    """Numbers of a known row, which is the same for every item, by their positions."""
    table, positions = node.inputs
    if table not in model.known or positions not in model.values:
        raise refusal(node, "only numbers of a known row can be looked up")
    values, shape = model.known[table], model.shape(model.values[positions])
    last = node.attributes.get("axis", 0) in (-1, values.ndim - 1)
    rows = values.reshape(-1, values.shape[-1])
    if not last or len(shape) != 1 or values.ndim != 2 or (rows != rows[:1]).any():
        raise refusal(node, f"a table of {values.shape} by positions of {shape}")
    weight = model.building.constant(f"{node.outputs[0]}/row", rows[0][:, None])
    op = ops.EmbeddingOp(weight, checked=True)
    return model.add(node, ops.ReshapeOp(shape), model.add(node, op, model.values[positions]))


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
