"""Operators of ONNX as operations of a graph: which handler reads which, and those that compute
number by number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assay.native import ops
from assay.native.onnx import layer_ops, logic_ops, shape_ops
from assay.native.onnx.batch_axis import batch_first
from assay.native.onnx.constant_folding import folded
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import FIRST, Importing, item_axes, item_axis, refused
from assay.native.onnx.reshape import file_shape, in_order

# Adds a node whose first input is computed, and gives the value of its first output.
Handler = Callable[[Importing, OnnxOp], str]


def add_operator(model: Importing, node: OnnxOp) -> None:
    if node.domain not in ("", "ai.onnx"):
        raise refused(node, f"it is of the domain {node.domain}")
    given = [name for name in node.inputs if name]
    if node.kind == "Shape" and given[0] in model.values:
        _shape(model, node)
    elif all(name in model.known for name in given):
        _known(model, node)
    elif node.kind == "Split" or node.kind in HANDLERS:
        _computed(model, node)
    else:
        raise refused(node, "this operator is not known here")


def _computed(model: Importing, node: OnnxOp) -> None:
    logic_ops.note_whole(model, node)
    node = in_order(model, node)
    if node.kind != "Reshape":
        node, place = batch_first(model, node)
        model.places |= {} if place == FIRST else dict.fromkeys(node.outputs, place)
    if node.kind == "Split":
        shape_ops.split(model, node)
    else:
        model.values[node.outputs[0]] = HANDLERS[node.kind](model, node)


def _shape(model: Importing, node: OnnxOp) -> None:
    sizes = file_shape(model, node.inputs[0])
    part = sizes[node.attributes.get("start", 0) : node.attributes.get("end", len(sizes))]
    model.known[node.outputs[0]] = np.array(part, np.int64)


def _known(model: Importing, node: OnnxOp) -> None:
    found = folded(node, [model.known[name] for name in node.inputs if name])
    if found is None:
        raise refused(node, "all its inputs are known, and it is not computed here")
    model.known |= zip(node.outputs, found, strict=False)


def _same(model: Importing, node: OnnxOp) -> str:
    return model.values[node.inputs[0]]


def _unary(kind: Any, **more: float) -> Handler:
    def add(model: Importing, node: OnnxOp) -> str:
        return model.add(node, ops.ActivationOp(kind, **more), model.values[node.inputs[0]])

    return add


def _by_alpha(kind: Any, alpha: float) -> Handler:
    def add(model: Importing, node: OnnxOp) -> str:
        told = float(node.attributes.get("alpha", alpha))
        return _unary(kind, alpha=told)(model, node)

    return add


def _selu(model: Importing, node: OnnxOp) -> str:
    if node.attributes:
        raise refused(node, "it has other numbers than the paper's")
    return _unary("selu")(model, node)


def _gelu(model: Importing, node: OnnxOp) -> str:
    tanh = node.attributes.get("approximate", "none") == "tanh"
    return _unary("gelu_tanh" if tanh else "gelu")(model, node)


def _hard_sigmoid(model: Importing, node: OnnxOp) -> str:
    """A slope and a height, then cut to what lies from 0 to 1."""
    value = model.values[node.inputs[0]]
    rank = len(model.shape(value))
    for kind, name, usual in (("multiply", "alpha", 0.2), ("add", "beta", 0.5)):
        held = model.fixed(node, node.attributes.get(name, usual), rank)
        value = model.add(node, ops.BinaryOp(kind), value, held)  # type: ignore[arg-type]
    return model.add(node, ops.ActivationOp("clip", 0.0, 1.0), value)


def _clip(model: Importing, node: OnnxOp) -> str:
    """Bounds are attributes before opset 11, then inputs; either may be missing."""
    value = model.values[node.inputs[0]]
    bounds: list[float | None] = [node.attributes.get(name) for name in ("min", "max")]
    for at, name in enumerate(node.inputs[1:3]):
        if name and name not in model.known:
            raise refused(node, f"its bound '{name}' is computed")
        bounds[at] = float(model.known[name]) if name else None
    low, high = (None if n is None or abs(n) > 3e38 else float(n) for n in bounds)
    if low is not None and high is not None:
        return model.add(node, ops.ActivationOp("clip", low, high), value)
    for kind, bound in (("maximum", low), ("minimum", high)):
        if bound is not None:
            held = model.fixed(node, bound, len(model.shape(value)))
            value = model.add(node, ops.BinaryOp(kind), value, held)  # type: ignore[arg-type]
    return value


def _prelu(model: Importing, node: OnnxOp) -> str:
    """What is above 0, and a share of what is below."""
    value = model.values[node.inputs[0]]
    if node.inputs[1] not in model.known:
        raise refused(node, "its slopes are computed")
    rank = len(model.shape(value))
    zero = model.fixed(node, 0.0, rank)
    slope = model.fixed(node, model.known[node.inputs[1]], rank)
    above = model.add(node, ops.ActivationOp("relu"), value)
    below = model.add(node, ops.BinaryOp("minimum"), value, zero)
    below = model.add(node, ops.BinaryOp("multiply"), below, slope)
    return model.add(node, ops.BinaryOp("add"), above, below)


def _binary(kind: Any) -> Handler:
    """Of two inputs, or of more, one after the other."""

    def add(model: Importing, node: OnnxOp) -> str:
        first, *rest = node.inputs
        if not rest:
            return model.values[first]
        names = sorted(node.inputs, key=lambda name: name in model.known) if rest[1:] else [first]
        names += [] if rest[1:] else rest
        value = names[0]
        for number, name in enumerate(names[1:]):
            made = model.add(node, ops.BinaryOp(kind), *model.pair(node, (value, name)))
            value = f"{node.outputs[0]}\0{number}"  # a name that no file has
            model.values[value] = made
        return model.values[value]

    return add


def _mean_of(model: Importing, node: OnnxOp) -> str:
    total = _binary("add")(model, node)
    share = model.fixed(node, 1 / len(node.inputs), len(model.shape(total)))
    return model.add(node, ops.BinaryOp("multiply"), total, share)


def _power(model: Importing, node: OnnxOp) -> str:
    base, exponent = node.inputs
    if base in model.values and exponent in model.known and model.known[exponent].size == 1:
        kind: Any = {2.0: "square", 0.5: "sqrt", -1.0: "reciprocal"}.get(
            float(model.known[exponent].ravel()[0])
        )
        if kind:
            return _unary(kind)(model, node)
    return _binary("power")(model, node)


def _where(model: Importing, node: OnnxOp) -> str:
    """Known numbers in known places of a value, as causal attention has them."""
    condition, *both = node.inputs
    known = [name for name in both if name in model.known]
    if condition not in model.known or len(known) != 1:
        raise refused(node, "only one that puts known numbers into known places can be")
    numbers = np.asarray(model.known[known[0]], np.float32)
    value = next(model.values[name] for name in both if name in model.values)
    open_ = np.asarray(model.known[condition], bool) == (both[1] in known)
    if (np.isnan(numbers) & ~open_).any():
        raise refused(node, "what it puts there is partly no number")
    mask = model.fixed(node, np.where(open_, np.float32(np.nan), numbers), len(model.shape(value)))
    return model.add(node, ops.BinaryOp("mask"), value, mask)


def _softmax(model: Importing, node: OnnxOp) -> str:
    """Before opset 13, over all axes from the given one on, as one."""
    value = model.values[node.inputs[0]]
    shape, old = model.shape(value), model.model.opset < 13
    axis = item_axis(node, node.attributes.get("axis", 1 if old else -1), len(shape))
    if not old or axis == len(shape) - 1:
        return model.add(node, ops.SoftmaxOp(axis), value)
    joined = (*shape[:axis], int(np.prod(shape[axis:])))
    value = model.add(node, ops.ReshapeOp(joined), value)
    value = model.add(node, ops.SoftmaxOp(axis), value)
    return model.add(node, ops.ReshapeOp(shape), value)


def _log_softmax(model: Importing, node: OnnxOp) -> str:
    return model.add(node, ops.ActivationOp("log"), _softmax(model, node))


def _reduce(kind: Any, before: Any = "", after: Any = "") -> Handler:
    def add(model: Importing, node: OnnxOp) -> str:
        value = model.values[node.inputs[0]]
        rank = len(model.shape(value))
        told = node.attributes.get("axes")
        if told is None and len(node.inputs) > 1 and node.inputs[1]:
            told = model.known[node.inputs[1]].tolist()
        if told is None:
            raise refused(node, "it is over all axes, the batch among them")
        axes = item_axes(node, told, rank)
        if before:
            value = model.add(node, ops.ActivationOp(before), value)
        value = model.add(node, ops.ReduceOp(kind, axes), value)
        if after:
            value = model.add(node, ops.ActivationOp(after), value)
        if node.attributes.get("keepdims", 1):
            return value
        shape = tuple(n for axis, n in enumerate(model.shape(value)) if axis not in axes)
        if not shape:
            raise refused(node, "it leaves no axis but the batch")
        return model.add(node, ops.ReshapeOp(shape), value)

    return add


HANDLERS: dict[str, Handler] = {
    **layer_ops.HANDLERS,
    **shape_ops.HANDLERS,
    **logic_ops.HANDLERS,
    "Identity": _same,
    "Dropout": _same,
    "Relu": _unary("relu"),
    "LeakyRelu": _by_alpha("relu", 0.01),
    "Elu": _by_alpha("elu", 1.0),
    "Selu": _selu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "Clip": _clip,
    "PRelu": _prelu,
    **{
        name: _unary(kind)
        for name, kind in {
            "Tanh": "tanh",
            "Sigmoid": "sigmoid",
            "Softplus": "softplus",
            "Softsign": "softsign",
            "HardSwish": "hard_silu",
            "Mish": "mish",
            "Exp": "exponential",
            "Log": "log",
            "Sqrt": "sqrt",
            "Abs": "abs",
            "Neg": "negative",
            "Reciprocal": "reciprocal",
            "Erf": "erf",
            "Sin": "sin",
            "Cos": "cos",
        }.items()
    },
    "Add": _binary("add"),
    "Sum": _binary("add"),
    "Mean": _mean_of,
    "Sub": _binary("subtract"),
    "Mul": _binary("multiply"),
    "Div": _binary("divide"),
    "Max": _binary("maximum"),
    "Min": _binary("minimum"),
    "Pow": _power,
    "Where": _where,
    "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
    "ReduceMean": _reduce("mean"),
    "ReduceSum": _reduce("sum"),
    "ReduceMax": _reduce("max"),
    "ReduceMin": _reduce("min"),
    "ReduceL1": _reduce("sum", "abs"),
    "ReduceLogSum": _reduce("sum", after="log"),
    "ReduceL2": _reduce("sum", "square", "sqrt"),
    "ReduceSumSquare": _reduce("sum", "square"),
}
