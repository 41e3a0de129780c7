"""Operators of ONNX as operations of a graph: which handler reads which, and those that compute
number by number."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from assay.native import ops
from assay.native.onnx import composite_ops, index_ops, layer_ops, logic_ops, shape_ops
from assay.native.onnx.batch_axis import batch_first
from assay.native.onnx.by_item import BY_ITEM, by_item
from assay.native.onnx.constant_folding import fold
from assay.native.onnx.evaluation import evaluate
from assay.native.onnx.integers import BOOL, Integers, note_integers, type_of
from assay.native.onnx.model import OnnxOp, check_size
from assay.native.onnx.read import FIRST, Importing, refusal
from assay.native.onnx.reshape import file_shape, in_order
from assay.native.onnx.table import OPERATORS, unsupported

# Adds a node whose first input is computed, and gives the value of its first output.
Handler = Callable[[Importing, OnnxOp], str]


def add_operator(model: Importing, node: OnnxOp) -> None:
    if node.domain not in ("", "ai.onnx"):
        raise refusal(node, f"it is of the domain {node.domain}")
    if reason := unsupported(node.kind, node.opset, node.attributes, OPERATORS):
        raise refusal(node, reason)
    for name in node.inputs:
        if name and name not in model.values and name not in model.known:
            raise refusal(node, f"its input '{name}' is not computed before it")
    try:
        _add(model, _cast_of(model, node) if node.kind == "CastLike" else node)
    except KeyError as error:
        raise refusal(node, _missing(node, str(error.args[0]))) from None
    except _MISFITS as error:  # of attributes and known inputs that do not fit each other
        raise refusal(node, f"its inputs do not fit ({' '.join(str(error).split())})") from None


def _missing(node: OnnxOp, name: str) -> str:
    if name in node.inputs:
        return f"its input '{name}' is known, and is only supported if it is computed"
    return f"its attribute '{name}' is missing"


# What numpy and Python raise for shapes, axes, positions and attributes that do not exist.
_MISFITS = (ValueError, IndexError, TypeError, OverflowError, ZeroDivisionError)


def _cast_of(model: Importing, node: OnnxOp) -> OnnxOp:
    first, like = node.inputs
    to = {"to": type_of(model, like)}
    return msgspec.structs.replace(node, kind="Cast", inputs=(first,), attributes=to)


def _add(model: Importing, node: OnnxOp) -> None:
    names = [name for name in node.inputs if name]
    if node.kind in ("Shape", "Size") and names[0] in model.values:
        _shape(model, node)
    elif all(name in model.known for name in names):
        _known(model, node)
    elif node.kind == "Split" or node.kind in HANDLERS:
        _compute(model, node)
    else:
        raise refusal(node, "its input is computed, and it is only supported for known values")


def _compute(model: Importing, node: OnnxOp) -> None:
    for name in node.outputs[1:]:
        if node.kind not in ("Split", *FURTHER) and name in model.used:
            raise refusal(node, f"its further output '{name}' is not computed")
    note_integers(model, node)
    if model.batched:
        node = in_order(model, node)
        if node.kind != "Reshape":
            node, place = batch_first(model, node)
            model.places |= {} if place == FIRST else dict.fromkeys(node.outputs, place)
    if node.kind == "Split":
        shape_ops.split(model, node)
    elif node.kind in BY_ITEM and not model.batched:
        model.values[node.outputs[0]] = by_item(model, node, HANDLERS[node.kind])
    else:
        model.values[node.outputs[0]] = HANDLERS[node.kind](model, node)


FURTHER = ("Dropout", "LayerNormalization")  # whose further outputs are computed too


def _shape(model: Importing, node: OnnxOp) -> None:
    sizes = file_shape(model, node.inputs[0])
    if node.kind == "Size":
        if model.batched:
            raise refusal(node, "it counts the batch")
        model.known[node.outputs[0]] = np.array(math.prod(sizes), np.int64)
        return
    part = sizes[node.attributes.get("start", 0) : node.attributes.get("end", len(sizes))]
    model.known[node.outputs[0]] = np.array(part, np.int64)


def _known(model: Importing, node: OnnxOp) -> None:
    outputs = fold(node, [model.known[name] if name else None for name in node.inputs])
    if outputs is None:
        model.known |= evaluate(model, node, _compute)
    else:
        model.known |= zip(node.outputs, outputs, strict=False)


def _same(model: Importing, node: OnnxOp) -> str:
    return model.values[node.inputs[0]]


def _dropout(model: Importing, node: OnnxOp) -> str:
    """Inference returns the input: before opset 7 by an attribute, from opset 12 on by an input."""
    if node.opset < 7 and not node.attributes.get("is_test", 0):
        raise refusal(node, "it is in training mode; supported: is_test=1")
    if len(node.inputs) > 2 and node.inputs[2] and np.any(model.weight(node, 2)):
        raise refusal(node, "it is in training mode; supported: training_mode=false")
    value = _same(model, node)
    if mask := next(iter(node.outputs[1:]), ""):  # of what stays: all
        if node.opset < 12 and mask in model.used:
            raise refusal(node, f"opset {node.opset} does not define its mask '{mask}'")
        rank = len(model.shape(value))
        model.values[mask] = model.as_constant(
            node, np.ones(check_size(model.shape(value)), np.float32), rank
        )
        model.integers[mask] = Integers(BOOL, 0, 1)
    return value


def _unary(kind: Any, **more: float) -> Handler:
    def add(model: Importing, node: OnnxOp) -> str:
        return model.add(node, ops.ActivationOp(kind, **more), model.values[node.inputs[0]])

    return add


def _by_alpha(kind: Any, alpha: float) -> Handler:
    def add(model: Importing, node: OnnxOp) -> str:
        return _unary(kind, alpha=float(node.attributes.get("alpha", alpha)))(model, node)

    return add


def _selu(model: Importing, node: OnnxOp) -> str:
    """By a scaled Elu where its numbers are not those of the paper."""
    alpha = node.attributes.get("alpha", _SELU_ALPHA)
    gamma = node.attributes.get("gamma", _SELU_GAMMA)
    if abs(alpha - _SELU_ALPHA) < 1e-6 and abs(gamma - _SELU_GAMMA) < 1e-6:
        return _unary("selu")(model, node)
    value = _unary("elu", alpha=alpha)(model, node)
    scale = model.as_constant(node, gamma, len(model.shape(value)))
    return model.add(node, ops.BinaryOp("multiply"), value, scale)


_SELU_ALPHA, _SELU_GAMMA = 1.6732631921768188, 1.0507010221481323


def _gelu(model: Importing, node: OnnxOp) -> str:
    tanh = node.attributes.get("approximate", "none") == "tanh"
    return _unary("gelu_tanh" if tanh else "gelu")(model, node)


def _hard_sigmoid(model: Importing, node: OnnxOp) -> str:
    """A slope and a height, then cut to what lies from 0 to 1."""
    value = model.values[node.inputs[0]]
    rank = len(model.shape(value))
    for kind, name, usual in (("multiply", "alpha", 0.2), ("add", "beta", 0.5)):
        number = model.as_constant(node, node.attributes.get(name, usual), rank)
        value = model.add(node, ops.BinaryOp(kind), value, number)  # type: ignore[arg-type]
    return model.add(node, ops.ActivationOp("clip", 0.0, 1.0), value)


def _prelu(model: Importing, node: OnnxOp) -> str:
    """What is above 0, and a share of what is below."""
    value = model.values[node.inputs[0]]
    if node.inputs[1] not in model.known:
        raise refusal(node, "its slopes are computed")
    rank = len(model.shape(value))
    zero = model.as_constant(node, 0.0, rank)
    slopes = model.known[node.inputs[1]]
    if not np.isfinite(slopes).all():
        raise refusal(node, "its slopes are infinite or NaN")
    if node.opset < 7 and slopes.size > 1:  # of channels
        slopes = slopes.reshape(-1, *(1,) * (rank - 2 + model.batched))
    slope = model.as_constant(node, slopes, rank)
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
            result = model.add(node, ops.BinaryOp(kind), *model.pair(node, (value, name)))
            value = f"{node.outputs[0]}\0{number}"  # a name that no file has
            model.values[value] = result
        return model.values[value]

    return add


def _mean_of(model: Importing, node: OnnxOp) -> str:
    total = _binary("add")(model, node)
    share = model.as_constant(node, 1 / len(node.inputs), len(model.shape(total)))
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
        return composite_ops.where(model, node)
    numbers = np.asarray(model.known[known[0]], np.float32)
    value = next(model.values[name] for name in both if name in model.values)
    open_ = np.asarray(model.known[condition], bool) == (both[1] in known)
    if (np.isnan(numbers) & ~open_).any():
        return composite_ops.where(model, node)
    mask = model.as_constant(
        node, np.where(open_, np.float32(np.nan), numbers), len(model.shape(value))
    )
    return model.add(node, ops.BinaryOp("mask"), value, mask)


def _softmax(model: Importing, node: OnnxOp) -> str:
    """Before opset 13, over all axes from the given one on, as one."""
    value = model.values[node.inputs[0]]
    shape, old = model.shape(value), node.opset < 13
    axis = model.item_axis(node, node.attributes.get("axis", 1 if old else -1), len(shape))
    if not old or axis == len(shape) - 1:
        return model.add(node, ops.SoftmaxOp(axis), value)
    joined = (*shape[:axis], int(np.prod(shape[axis:])))
    value = model.add(node, ops.ReshapeOp(joined), value)
    value = model.add(node, ops.SoftmaxOp(axis), value)
    return model.add(node, ops.ReshapeOp(shape), value)


def _log_softmax(model: Importing, node: OnnxOp) -> str:
    """x - max - log(sum(exp(x - max))): the logarithm of a softmax is -inf where that is 0."""
    value = model.values[node.inputs[0]]
    shape, old = model.shape(value), node.opset < 13
    axis = model.item_axis(node, node.attributes.get("axis", 1 if old else -1), len(shape))
    joined = (*shape[:axis], int(np.prod(shape[axis:]))) if old else shape
    value = model.add(node, ops.ReshapeOp(joined), value) if joined != shape else value
    largest = model.add(node, ops.ReduceOp("max", (axis,)), value)
    value = model.add(node, ops.BinaryOp("subtract"), value, largest)
    powers = model.add(node, ops.ActivationOp("exponential"), value)
    total = model.add(node, ops.ReduceOp("sum", (axis,)), powers)
    logarithm = model.add(node, ops.ActivationOp("log"), total)
    value = model.add(node, ops.BinaryOp("subtract"), value, logarithm)
    return model.add(node, ops.ReshapeOp(shape), value) if joined != shape else value


def _reduced_axes(model: Importing, node: OnnxOp, rank: int) -> tuple[int, ...]:
    numbers = node.attributes.get("axes")
    if numbers is None and len(node.inputs) > 1 and node.inputs[1]:
        numbers = model.weight(node, 1).tolist()
    if not numbers and node.attributes.get("noop_with_empty_axes", 0):
        return ()
    if not numbers and model.batched:
        raise refusal(node, "it is over all axes, the batch among them")
    if not numbers:
        return tuple(range(rank))
    return model.item_axes(node, numbers, rank)


def _reduce(kind: Any, before: Any = "", after: Any = "") -> Handler:
    def add(model: Importing, node: OnnxOp) -> str:
        value = model.values[node.inputs[0]]
        axes = _reduced_axes(model, node, len(model.shape(value)))
        if before:
            value = model.add(node, ops.ActivationOp(before), value)
        value = model.add(node, ops.ReduceOp(kind, axes), value) if axes else value
        if after:
            value = model.add(node, ops.ActivationOp(after), value)
        if node.attributes.get("keepdims", 1):
            return value
        shape = tuple(n for axis, n in enumerate(model.shape(value)) if axis not in axes)
        return model.item(node, value, shape)

    return add


HANDLERS: dict[str, Handler] = {
    **layer_ops.HANDLERS,
    **shape_ops.HANDLERS,
    **logic_ops.HANDLERS,
    **composite_ops.HANDLERS,
    **index_ops.HANDLERS,
    "Identity": _same,
    "Dropout": _dropout,
    "Relu": _unary("relu"),
    "LeakyRelu": _by_alpha("relu", 0.01),
    "Elu": _by_alpha("elu", 1.0),
    "Selu": _selu,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
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
            **{name.title(): name for name in ["tan", "asin", "acos", "atan", "sinh", "cosh"]},
            **{
                name.title(): name
                for name in ["asinh", "acosh", "atanh", "floor", "ceil", "round", "sign"]
            },
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
