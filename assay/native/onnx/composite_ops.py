"""Operators of ONNX that are several operations of a graph."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.native import ops
from assay.native.onnx.model import OnnxOp, check_size
from assay.native.onnx.read import Importing, refusal

Handler = Callable[[Importing, OnnxOp], str]


def binary(model: Importing, node: OnnxOp, kind: Any, first: str, second: str | float) -> str:
    """Of two values of the graph, or of a value and a number."""
    if not isinstance(second, str):
        second = model.as_constant(node, second, len(model.shape(first)))
    return model.add(node, ops.BinaryOp(kind), first, second)


def not_(model: Importing, node: OnnxOp, truth: str) -> str:
    ones = model.as_constant(node, 1.0, len(model.shape(truth)))
    return model.add(node, ops.BinaryOp("subtract"), ones, truth)


def select(model: Importing, node: OnnxOp, condition: str, yes: str, no: str) -> str:
    """`yes` where the condition is not 0, else `no`; neither spreads a NaN or infinity."""
    first = binary(model, node, "where", yes, condition)
    second = binary(model, node, "where", no, not_(model, node, condition))
    return binary(model, node, "add", first, second)


def _unary(model: Importing, node: OnnxOp, kind: Any, value: str, **more: float) -> str:
    return model.add(node, ops.ActivationOp(kind, **more), value)


def where(model: Importing, node: OnnxOp) -> str:
    return select(model, node, *model.pair(node, node.inputs))


def _celu(model: Importing, node: OnnxOp) -> str:
    """max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))"""
    alpha, value = float(node.attributes.get("alpha", 1.0)), model.values[node.inputs[0]]
    if alpha <= 0:
        raise refusal(node, f"its alpha is {alpha:g}; supported: more than 0")
    below = binary(model, node, "minimum", value, 0.0)
    below = binary(model, node, "divide", below, alpha)
    below = _unary(model, node, "elu", below, alpha=alpha)
    return binary(model, node, "add", _unary(model, node, "relu", value), below)


def _thresholded_relu(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    limit = model.as_constant(node, node.attributes.get("alpha", 1.0), len(model.shape(value)))
    above = model.add(node, ops.BinaryOp("less"), limit, value)
    return binary(model, node, "add", binary(model, node, "where", value, above), 0.0)


def _shrink(model: Importing, node: OnnxOp) -> str:
    """x - bias above lambd, x + bias below -lambd, else 0."""
    value, bias = model.values[node.inputs[0]], float(node.attributes.get("bias", 0.0))
    limit = float(node.attributes.get("lambd", 0.5))
    if limit < 0:
        raise refusal(node, f"its lambd is {limit:g}; supported: 0 or more")
    high = model.as_constant(node, limit, len(model.shape(value)))
    above = model.add(node, ops.BinaryOp("less"), high, value)
    below = binary(model, node, "less", value, -limit)
    less = binary(model, node, "where", binary(model, node, "subtract", value, bias), above)
    more = binary(model, node, "where", binary(model, node, "add", value, bias), below)
    return binary(model, node, "add", binary(model, node, "add", less, more), 0.0)


def _swish(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    gate = binary(model, node, "multiply", value, float(node.attributes.get("alpha", 1.0)))
    return binary(model, node, "multiply", value, _unary(model, node, "sigmoid", gate))


def _is_nan(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    return not_(model, node, binary(model, node, "equal", value, value))


def _is_inf(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    high, low = (node.attributes.get(f"detect_{name}", 1) for name in ("positive", "negative"))
    if high and low:
        value = _unary(model, node, "abs", value)
    if not high and not low:
        return binary(model, node, "multiply", binary(model, node, "equal", value, 0.0), 0.0)
    return binary(model, node, "equal", value, math.inf if high else -math.inf)


def _xor(model: Importing, node: OnnxOp) -> str:
    return not_(model, node, binary(model, node, "equal", *model.pair(node, node.inputs)))


def _mod(model: Importing, node: OnnxOp) -> str:
    """Of floats with the sign of the first, as C's fmod."""
    if not node.attributes.get("fmod", 0):
        raise refusal(node, "its operands are computed; supported: fmod=1")
    return binary(model, node, "remainder", *model.pair(node, node.inputs))


def _trilu(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    if len(shape) < 2:
        raise refusal(node, f"its items are of shape {shape}, not matrices")
    offset = int(model.weight(node, 1).item()) if len(node.inputs) > 1 and node.inputs[1] else 0
    cut = np.triu if node.attributes.get("upper", 1) else np.tril
    stays = cut(np.ones(shape[-2:], bool), offset)
    mask = model.as_constant(node, np.where(stays, np.float32(np.nan), 0), len(shape))
    return model.add(node, ops.BinaryOp("mask"), value, mask)


def _tile(model: Importing, node: OnnxOp) -> str:
    """Each axis as two, of which the first is repeated: a product with ones."""
    value = model.values[node.inputs[0]]
    shape, times = model.shape(value), [int(n) for n in model.weight(node, 1)]
    if model.batched and times.pop(0) != 1:
        raise refusal(node, "it repeats the batch")
    if len(times) != len(shape) or min(times) < 1:
        raise refusal(node, f"it repeats {shape} by {tuple(times)}")
    if set(times) == {1}:
        return value
    apart = [size for each in shape for size in (1, each)]
    wide = [size for each in times for size in (each, 1)]
    value = model.add(node, ops.ReshapeOp(tuple(apart)), value)
    ones = model.as_constant(node, np.ones(check_size(wide), np.float32), len(wide))
    value = model.add(node, ops.BinaryOp("multiply"), value, ones)
    return model.add(
        node, ops.ReshapeOp(tuple(a * b for a, b in zip(shape, times, strict=True))), value
    )


def _lp_normalization(model: Importing, node: OnnxOp) -> str:
    """Divided by the norm along an axis; 0 where that is 0."""
    value = model.values[node.inputs[0]]
    axis = model.item_axis(node, node.attributes.get("axis", -1), len(model.shape(value)))
    squares = node.attributes.get("p", 2) == 2
    size = _unary(model, node, "square" if squares else "abs", value)
    size = model.add(node, ops.ReduceOp("sum", (axis,)), size)
    size = _unary(model, node, "sqrt", size) if squares else size
    empty = binary(model, node, "equal", size, 0.0)
    value = binary(model, node, "divide", value, binary(model, node, "add", size, empty))
    return binary(model, node, "where", value, not_(model, node, empty))


def _rms_normalization(model: Importing, node: OnnxOp) -> str:
    value, scale = model.pair(node, node.inputs)
    rank = len(model.shape(value))
    first = model.item_axis(node, node.attributes.get("axis", -1), rank)
    axes, epsilon = tuple(range(first, rank)), float(node.attributes.get("epsilon", 1e-5))
    value = model.add(node, ops.LayerNormOp(axes, epsilon=epsilon, centered=False), value)
    return binary(model, node, "multiply", value, scale)


def _clip(model: Importing, node: OnnxOp) -> str:
    """Bounds are attributes before opset 11, then inputs; either may be missing."""
    value = model.values[node.inputs[0]]
    bounds: list[float | None] = [node.attributes.get(name) for name in ("min", "max")]
    if any(name in model.values for name in node.inputs[1:3]):
        return _clip_by_values(model, node)
    for at, name in enumerate(node.inputs[1:3]):
        bounds[at] = float(model.known[name]) if name else None
    low, high = (
        usual if bound is None else float(bound)
        for bound, usual in zip(bounds, (-_LARGEST, _LARGEST), strict=True)
    )
    if math.isfinite(low) and math.isfinite(high):
        return model.add(node, ops.ActivationOp("clip", low, high), value)
    for kind, bound in (("maximum", low), ("minimum", high)):
        if not math.isinf(bound):
            number = model.as_constant(node, bound, len(model.shape(value)))
            value = model.add(node, ops.BinaryOp(kind), value, number)  # type: ignore[arg-type]
    return value


_LARGEST = float(np.finfo(np.float32).max)  # what ONNX clips to where a bound is missing


def _clip_by_values(model: Importing, node: OnnxOp) -> str:
    name = node.inputs[0]
    value = model.values[name]
    for kind, bound in zip(("maximum", "minimum"), node.inputs[1:3], strict=False):
        shape = model.shape(model.values[bound]) if bound in model.values else ()
        if shape or (bound in model.values and model.batched):
            raise refusal(node, f"its bound '{bound}' is of shape {shape}, no scalar")
        if bound:
            _, second = model.pair(node, (name, bound))
            value = model.add(node, ops.BinaryOp(kind), value, second)  # type: ignore[arg-type]
    return value


HANDLERS: dict[str, Handler] = {
    "Clip": _clip,
    "Celu": _celu,
    "ThresholdedRelu": _thresholded_relu,
    "Shrink": _shrink,
    "Swish": _swish,
    "IsNaN": _is_nan,
    "IsInf": _is_inf,
    "Xor": _xor,
    "Mod": _mod,
    "Trilu": _trilu,
    "Tile": _tile,
    "LpNormalization": _lp_normalization,
    "RMSNormalization": _rms_normalization,
}
