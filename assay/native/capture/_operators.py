"""Operations of keras.ops that compute: `x + 3`, `a @ b`, `ops.mean(x, 1)`."""

from __future__ import annotations

import inspect
from typing import Any

import keras
import numpy as np

from assay.native import ops
from assay.native.capture import _attention, _shape_ops, unsupported
from assay.native.capture._activations import add_softmax
from assay.native.capture._arguments import LARGEST, Given, Operator, numbers, of_an_item
from assay.native.capture._layers import common_order
from assay.native.capture._shape_ops import item_axes, without
from assay.native.graph import Array
from assay.native.graph_builder import Building, Tensor

MODULES = tuple(f"keras.src.ops.{file}" for file in ("core", "math", "nn", "numpy"))
WITH_KEYWORDS = {"DotProductAttention"}  # may be given by name
# Of whole numbers they give whole numbers, exactly.
WHOLE = {"Add", "Subtract", "Multiply", "Maximum", "Minimum", *_shape_ops.OPERATORS}


def operator(operation: Any) -> Operator | None:
    if type(operation).__module__ not in MODULES:
        return None
    return OPERATORS.get(type(operation).__name__)


def arguments(operation: Any, node: Any, held: dict[int, Tensor], name: str) -> list[Given]:
    """In the order of its `call`, with tensors of the graph in place of the model's."""
    args, kwargs = node.arguments.fill_in(held)
    if type(operation).__name__ in WITH_KEYWORDS:
        bound = inspect.signature(operation.call).bind(*args, **kwargs)
        bound.apply_defaults()
        return list(bound.args)
    if kwargs := {key: value for key, value in kwargs.items() if value is not None}:
        raise unsupported(f"called with {next(iter(kwargs))}=", name, ("none",))
    if any(tensor.dtype != "float32" for tensor in node.output_tensors):
        _check_whole(args, name)
    return list(args)


def _check_whole(args: Any, name: str) -> None:
    known = [
        each for each in args if keras.ops.is_tensor(each) or isinstance(each, int | np.ndarray)
    ]
    if any(np.abs(numbers(each)).max(initial=0) >= LARGEST for each in known):
        raise unsupported("computing with whole numbers that large", name, (f"below {LARGEST}",))


def _binary(kind: Any) -> Operator:
    def add(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
        tensors = [each for each in given if isinstance(each, Tensor)]
        if len({len(tensor.order) for tensor in tensors}) > 1:
            raise unsupported("an operation of tensors of several ranks", name, ("one rank",))
        order = common_order(tensors)
        values = [
            building.laid(each, order)
            if isinstance(each, Tensor)
            else building.fixed(f"{name}/known", of_an_item(each, len(order), name), order)
            for each in given
        ]
        return [Tensor(building.add(name, ops.BinaryOp(kind), *values), order)]

    return add


def _where(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    """Known numbers in known places of a tensor."""
    condition, *both = given
    tensors = [each for each in both if isinstance(each, Tensor)]
    if isinstance(condition, Tensor) or len(tensors) != 1:
        raise unsupported("a choice by computed numbers", name, ("known numbers in known places",))
    rank, keeps = len(tensors[0].order), isinstance(both[0], Tensor)
    numbers = of_an_item(both[1 if keeps else 0], rank, name)
    open_ = (of_an_item(condition, rank, name) != 0) == keeps
    if (np.isnan(numbers) & ~open_).any():
        raise unsupported("a choice of what is no number", name, ("numbers",))
    mask = np.where(open_, np.float32(np.nan), numbers)
    return _binary("mask")(building, operation, [tensors[0], mask], name)


def _unary(kind: Any, **more: float) -> Operator:
    def add(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
        op = ops.ActivationOp(kind, **more)
        return [Tensor(building.add(name, op, given[0].value), given[0].order)]

    return add


def _gelu(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    kind = "gelu_tanh" if operation.approximate else "gelu"
    return _unary(kind)(building, operation, given, name)


def _leaky(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    slope = float(operation.negative_slope)
    return _unary("relu", alpha=slope)(building, operation, given, name)


def _elu(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    return _unary("elu", alpha=float(operation.alpha))(building, operation, given, name)


def _clip(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    bounds = {"alpha": float(operation.x_min), "limit": float(operation.x_max)}
    return _unary("clip", **bounds)(building, operation, given, name)


def _softmax(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    if not isinstance(operation.axis, int) or operation.axis == 0:
        raise unsupported(f"a softmax over {operation.axis}", name, ("one axis of an item",))
    return [add_softmax(building, operation.axis, given[0], name)]


def _matmul(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    first, second = given
    if isinstance(first, Tensor) and not isinstance(second, Tensor) and np.ndim(second) == 2:
        return [_dense(building, first, numbers(second).T, name)]
    rank = max(len(each.order) for each in given if isinstance(each, Tensor))
    plain = tuple(range(rank))
    ranks = {len(each.order) for each in given if isinstance(each, Tensor)}
    known = [each for each in given if not isinstance(each, Tensor)]
    if len(ranks) > 1 or rank < 2 or any(np.ndim(each) < 2 for each in known):
        raise unsupported("a product of tensors that are no matrices", name, ("matrices",))
    values = [
        building.laid(each)
        if isinstance(each, Tensor)
        else building.fixed(f"{name}/known", of_an_item(each, rank, name), plain)
        for each in given
    ]
    return [Tensor(building.add(name, ops.MatMulOp(), *values), plain)]


def _dense(building: Building, tensor: Tensor, weight: Array, name: str) -> Tensor:
    """A product with a known matrix. Where it is a table of the model, as that of a language
    model's head is, the two are one constant."""
    held = building.equal(weight) or building.constant(f"{name}/kernel", weight)
    made = building.add(name, ops.DenseOp(held), building.laid(tensor))
    return Tensor(made, tuple(range(len(tensor.order))))


def _cast(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    """To float32, which all numbers of a graph are."""
    return [given[0]]


def _reduce(kind: Any) -> Operator:
    def add(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
        tensor = given[0]
        own = item_axes(operation.axis, len(tensor.order), name)
        axes = tuple(sorted(tensor.order.index(axis) for axis in own))
        value = building.add(name, ops.ReduceOp(kind, axes), tensor.value)
        kept = Tensor(value, tensor.order)
        return [kept if operation.keepdims else without(building, kept, own, f"{name}/fewer")]

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
