"""Capture arithmetic of keras.ops: `x + 3`, `a @ b`, `ops.mean(x, 1)`."""

from __future__ import annotations

import inspect
from typing import Any

import keras
import numpy as np

from assay.native import ops
from assay.native.capture import _attention, _shape_ops, unsupported
from assay.native.capture._activations import add_softmax
from assay.native.capture._arguments import MAX_EXACT_INTEGER, Arg, Operator, item_constant, numbers
from assay.native.capture._layers import common_order
from assay.native.capture._shape_ops import drop_axes, item_axes
from assay.native.graph import Array
from assay.native.graph_builder import GraphBuilder, Tensor

MODULES = tuple(f"keras.src.ops.{file}" for file in ("core", "math", "nn", "numpy"))
WITH_KEYWORDS = {"DotProductAttention"}  # whose arguments may be keywords
# Exact for integers.
INTEGER_OPS = {"Add", "Subtract", "Multiply", "Maximum", "Minimum", *_shape_ops.OPERATORS}


def operator(operation: Any) -> Operator | None:
    if type(operation).__module__ not in MODULES:
        return None
    return OPERATORS.get(type(operation).__name__)


def arguments(operation: Any, node: Any, tensors: dict[int, Tensor], name: str) -> list[Arg]:
    """Arguments in the order of its `call`, with tensors of the graph in place of the model's."""
    args, kwargs = node.arguments.fill_in(tensors)
    if type(operation).__name__ in WITH_KEYWORDS:
        bound = inspect.signature(operation.call).bind(*args, **kwargs)
        bound.apply_defaults()
        return list(bound.args)
    if kwargs := {key: value for key, value in kwargs.items() if value is not None}:
        raise unsupported(f"called with {next(iter(kwargs))}=", name, ("none",))
    if any(tensor.dtype != "float32" for tensor in node.output_tensors):
        _check_integers(args, name)
    return list(args)


def _check_integers(args: Any, name: str) -> None:
    values = [
        value for value in args if keras.ops.is_tensor(value) or isinstance(value, int | np.ndarray)
    ]
    if any(np.abs(numbers(value)).max(initial=0) >= MAX_EXACT_INTEGER for value in values):
        raise unsupported(
            "computing with integers that large", name, (f"below {MAX_EXACT_INTEGER}",)
        )


def _binary(kind: Any) -> Operator:
    def add(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if len({len(tensor.order) for tensor in tensors}) > 1:
            raise unsupported("an operation of tensors of several ranks", name, ("one rank",))
        order = common_order(tensors)
        values = [
            builder.reorder(arg, order)
            if isinstance(arg, Tensor)
            else builder.add_constant(f"{name}/known", item_constant(arg, len(order), name), order)
            for arg in args
        ]
        return [Tensor(builder.add(name, ops.BinaryOp(kind), *values), order)]

    return add


def _where(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    """Replace fixed positions of a tensor by constants."""
    condition, *choices = args
    tensors = [choice for choice in choices if isinstance(choice, Tensor)]
    if isinstance(condition, Tensor) or len(tensors) != 1:
        raise unsupported("a choice by computed numbers", name, ("constants in fixed positions",))
    rank, keeps = len(tensors[0].order), isinstance(choices[0], Tensor)
    numbers = item_constant(choices[1 if keeps else 0], rank, name)
    keep_mask = (item_constant(condition, rank, name) != 0) == keeps
    if (np.isnan(numbers) & ~keep_mask).any():
        raise unsupported("a choice of NaN", name, ("numbers",))
    mask = np.where(keep_mask, np.float32(np.nan), numbers)
    return _binary("mask")(builder, operation, [tensors[0], mask], name)


def _unary(kind: Any, **parameters: float) -> Operator:
    def add(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
        op = ops.ActivationOp(kind, **parameters)
        return [Tensor(builder.add(name, op, args[0].value), args[0].order)]

    return add


def _gelu(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    kind = "gelu_tanh" if operation.approximate else "gelu"
    return _unary(kind)(builder, operation, args, name)


def _leaky(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    slope = float(operation.negative_slope)
    return _unary("relu", alpha=slope)(builder, operation, args, name)


def _elu(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    return _unary("elu", alpha=float(operation.alpha))(builder, operation, args, name)


def _clip(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    bounds = {"alpha": float(operation.x_min), "limit": float(operation.x_max)}
    return _unary("clip", **bounds)(builder, operation, args, name)


def _softmax(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    if not isinstance(operation.axis, int) or operation.axis == 0:
        raise unsupported(f"a softmax over {operation.axis}", name, ("one axis of an item",))
    return [add_softmax(builder, operation.axis, args[0], name)]


def _matmul(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    first, second = args
    if isinstance(first, Tensor) and not isinstance(second, Tensor) and np.ndim(second) == 2:
        return [_dense(builder, first, numbers(second).T, name)]
    rank = max(len(arg.order) for arg in args if isinstance(arg, Tensor))
    order = tuple(range(rank))
    ranks = {len(arg.order) for arg in args if isinstance(arg, Tensor)}
    known = [arg for arg in args if not isinstance(arg, Tensor)]
    if len(ranks) > 1 or rank < 2 or any(np.ndim(arg) < 2 for arg in known):
        raise unsupported("a product of tensors that are no matrices", name, ("matrices",))
    values = [
        builder.reorder(arg)
        if isinstance(arg, Tensor)
        else builder.add_constant(f"{name}/known", item_constant(arg, rank, name), order)
        for arg in args
    ]
    return [Tensor(builder.add(name, ops.MatMulOp(), *values), order)]


def _dense(builder: GraphBuilder, tensor: Tensor, weight: Array, name: str) -> Tensor:
    """A product with a constant matrix, shared with an equal embedding (as in a language model's
    head)."""
    constant = builder.find_constant(weight) or builder.constant(f"{name}/kernel", weight)
    output = builder.add(name, ops.DenseOp(constant), builder.reorder(tensor))
    return Tensor(output, tuple(range(len(tensor.order))))


def _cast(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    """A cast to float32, the type of all values of a graph."""
    return [args[0]]


def _reduce(kind: Any) -> Operator:
    def add(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
        tensor = args[0]
        dims = item_axes(operation.axis, len(tensor.order), name)
        axes = tuple(sorted(tensor.order.index(axis) for axis in dims))
        value = builder.add(name, ops.ReduceOp(kind, axes), tensor.value)
        result = Tensor(value, tensor.order)
        return [result if operation.keepdims else drop_axes(builder, result, dims, f"{name}/fewer")]

    return add


OPERATORS: dict[str, Operator] = {
    "Add": _binary("add"),
    "Subtract": _binary("subtract"),
    "Multiply": _binary("multiply"),
    "Divide": _binary("divide"),
    "TrueDivide": _binary("divide"),
    "Maximum": _binary("maximum"),
    "Minimum": _binary("minimum"),
    "Power": _binary("power"),
    "Where": _where,
    "Negative": _unary("negative"),
    "Abs": _unary("abs"),
    "Absolute": _unary("abs"),
    "Sqrt": _unary("sqrt"),
    "Square": _unary("square"),
    "Exp": _unary("exponential"),
    "Log": _unary("log"),
    "Sin": _unary("sin"),
    "Cos": _unary("cos"),
    "Tanh": _unary("tanh"),
    "Erf": _unary("erf"),
    "Reciprocal": _unary("reciprocal"),
    "Relu": _unary("relu"),
    "Relu6": _unary("relu", limit=6.0),
    "Sigmoid": _unary("sigmoid"),
    "Silu": _unary("silu"),
    "Selu": _unary("selu"),
    "Softplus": _unary("softplus"),
    "Softsign": _unary("softsign"),
    "HardSigmoid": _unary("hard_sigmoid"),
    "HardSilu": _unary("hard_silu"),
    "Gelu": _gelu,
    "LeakyRelu": _leaky,
    "Elu": _elu,
    "Clip": _clip,
    "Softmax": _softmax,
    "Matmul": _matmul,
    "Mean": _reduce("mean"),
    "Sum": _reduce("sum"),
    "Max": _reduce("max"),
    "Min": _reduce("min"),
    "Cast": _cast,
    "DotProductAttention": _attention.dot_product,
    **_shape_ops.OPERATORS,
}
