"""Operations of keras.ops on tensors: `x + 3`, `a @ b`, `x[:, 1:]`, `ops.mean(x, 1)`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._activations import add_softmax
from assay.native.capture._layers import array, common_order
from assay.native.capture.graph_builder import Building, Tensor

Given = Tensor | Any  # a tensor of the model, or what the call was given instead
# Adds an operation with the arguments of its call and gives its outputs.
Operator = Callable[[Building, Any, list[Given], str], list[Tensor]]

MODULES = ("keras.src.ops.numpy", "keras.src.ops.nn", "keras.src.ops.math")


def operator(operation: Any) -> Operator | None:  # noqa: ANN401
    if type(operation).__module__ not in MODULES:
        return None
    return OPERATORS.get(type(operation).__name__)


def _binary(kind: Any) -> Operator:  # noqa: ANN401
    def add(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
        tensors = [each for each in given if isinstance(each, Tensor)]
        if len({len(tensor.order) for tensor in tensors}) > 1:
            raise unsupported("an operation of tensors of several ranks", name, ("one rank",))
        order = common_order(tensors)
        values = [
            building.laid(each, order)
            if isinstance(each, Tensor)
            else building.fixed(f"{name}/known", _numbers(each, len(order), name), order)
            for each in given
        ]
        return [Tensor(building.add(name, ops.BinaryOp(kind), *values), order)]

    return add


def _where(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    """Known numbers in known places of a tensor."""
    condition, *both = given
    tensors = [each for each in both if isinstance(each, Tensor)]
    if isinstance(condition, Tensor) or len(tensors) != 1:
        raise unsupported("a choice by computed numbers", name, ("known numbers in known places",))
    rank, keeps = len(tensors[0].order), isinstance(both[0], Tensor)
    numbers = _numbers(both[1 if keeps else 0], rank, name)
    open_ = (_numbers(condition, rank, name) != 0) == keeps
    if (np.isnan(numbers) & ~open_).any():
        raise unsupported("a choice of what is no number", name, ("numbers",))
    mask = np.where(open_, np.float32(np.nan), numbers)
    return _binary("mask")(building, operation, [tensors[0], mask], name)


def _numbers(given: Any, rank: int, name: str) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """As many axes as an item has; one for the batch is of size 1."""
    found = array(given) if isinstance(given, keras.Variable) else np.asarray(given, np.float32)
    if found.ndim == rank + 1 and len(found) == 1:
        found = found[0]
    if found.ndim > rank:
        raise unsupported(f"combined with numbers of {found.shape}", name, ("those of an item",))
    return found


def _unary(kind: Any, **more: float) -> Operator:  # noqa: ANN401
    def add(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
        op = ops.ActivationOp(kind, **more)
        return [Tensor(building.add(name, op, given[0].value), given[0].order)]

    return add


def _gelu(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    kind = "gelu_tanh" if operation.approximate else "gelu"
    return _unary(kind)(building, operation, given, name)


def _leaky(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    slope = float(operation.negative_slope)
    return _unary("relu", alpha=slope)(building, operation, given, name)


def _elu(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    return _unary("elu", alpha=float(operation.alpha))(building, operation, given, name)


def _clip(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    bounds = {"alpha": float(operation.x_min), "limit": float(operation.x_max)}
    return _unary("clip", **bounds)(building, operation, given, name)


def _softmax(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    if not isinstance(operation.axis, int) or operation.axis == 0:
        raise unsupported(f"a softmax over {operation.axis}", name, ("one axis of an item",))
    return [add_softmax(building, operation.axis, given[0], name)]


def _matmul(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    rank = max(len(each.order) for each in given if isinstance(each, Tensor))
    plain = tuple(range(rank))
    ranks = {len(each.order) for each in given if isinstance(each, Tensor)}
    if len(ranks) > 1 or rank < 2:
        raise unsupported("a product of tensors that are no matrices", name, ("matrices",))
    values = [
        building.laid(each)
        if isinstance(each, Tensor)
        else building.fixed(f"{name}/known", _numbers(each, rank, name), plain)
        for each in given
    ]
    return [Tensor(building.add(name, ops.MatMulOp(), *values), plain)]


def _reduce(kind: Any) -> Operator:  # noqa: ANN401
    def add(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
        tensor = given[0]
        own = _item_axes(operation.axis, len(tensor.order), name)
        axes = tuple(sorted(tensor.order.index(axis) for axis in own))
        value = building.add(name, ops.ReduceOp(kind, axes), tensor.value)
        kept = Tensor(value, tensor.order)
        return [kept if operation.keepdims else without(building, kept, own, f"{name}/fewer")]

    return add


def _item_axes(axis: Any, rank: int, name: str) -> list[int]:  # noqa: ANN401
    """Counted without the batch, which may not be among them."""
    told = list(axis) if isinstance(axis, list | tuple) else [axis]
    if None in told or any(each in (0, -rank - 1) for each in told):
        raise unsupported(f"over the axes {axis}, the batch among them", name, ("an item's",))
    return [each - 1 if each > 0 else each + rank for each in told]


def without(building: Building, tensor: Tensor, axes: Sequence[int], name: str) -> Tensor:
    """The tensor without these axes of size 1, counted as the tensor has them."""
    value = building.laid(tensor)
    shape = tuple(n for axis, n in enumerate(building.shapes[value]) if axis not in axes)
    if not shape:
        raise unsupported("giving one number without an axis", name, ("keepdims=True",))
    return Tensor(building.add(name, ops.ReshapeOp(shape), value), tuple(range(len(shape))))


def _reshape(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    value = building.laid(given[0])
    _, *shape = operation.newshape
    known = math.prod(size for size in shape if size != -1)
    whole = math.prod(building.shapes[value])
    shape = [whole // known if size == -1 else size for size in shape]
    made = building.add(name, ops.ReshapeOp(tuple(shape)), value)
    return [Tensor(made, tuple(range(len(shape))))]


def _transpose(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    axes = operation.axes
    if axes is None or axes[0] != 0:
        raise unsupported(f"a transpose to {axes}", name, ("one that leaves the batch first",))
    dims = [axis - 1 for axis in axes[1:]]
    return [Tensor(given[0].value, tuple(dims.index(axis) for axis in given[0].order))]


def _expand(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    value = building.laid(given[0])
    shape = list(building.shapes[value])
    (axis,) = _item_axes(operation.axis, len(shape) + 1, name)
    shape.insert(axis, 1)
    made = building.add(name, ops.ReshapeOp(tuple(shape)), value)
    return [Tensor(made, tuple(range(len(shape))))]


def _squeeze(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    axes = _item_axes(operation.axis, len(given[0].order), name)
    return [without(building, given[0], axes, name)]


def _item(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    """`x[:, 1:, ::2]`: ranges and whole numbers, and all of the batch."""
    value = building.laid(given[0])
    shape = building.shapes[value]
    keys = list(given[1]) if isinstance(given[1], tuple) else [given[1]]
    if Ellipsis in keys:
        at = keys.index(Ellipsis)
        keys[at : at + 1] = [slice(None)] * (len(shape) + 2 - len(keys))
    plain = all(isinstance(key, slice | int) for key in keys)
    if not plain or keys[0] != slice(None):
        raise unsupported(f"a part {given[1]}", name, ("ranges of an item",))
    keys = keys[1:] + [slice(None)] * (len(shape) + 1 - len(keys))
    gone = [axis for axis, key in enumerate(keys) if isinstance(key, int)]
    rows = [_row(key, size) for key, size in zip(keys, shape, strict=True)]
    sliced = ops.SliceOp(
        tuple(row.start for row in rows),
        tuple(map(len, rows)),
        tuple(row.step for row in rows),
    )
    made = Tensor(building.add(name, sliced, value), tuple(range(len(shape))))
    return [without(building, made, gone, f"{name}/fewer") if gone else made]


def _row(key: Any, size: int) -> range:  # noqa: ANN401 (a range or a whole number)
    return range(size)[slice(key % size, key % size + 1) if isinstance(key, int) else key]


def _split(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:  # noqa: ANN401
    value = building.laid(given[0])
    shape = building.shapes[value]
    (axis,) = _item_axes(operation.axis, len(shape), name)
    parts = np.array_split(np.arange(shape[axis]), operation.indices_or_sections)
    made = []
    for part in parts:
        starts = tuple(int(part[0]) if at == axis else 0 for at in range(len(shape)))
        sizes = tuple(len(part) if at == axis else size for at, size in enumerate(shape))
        op = ops.SliceOp(starts, sizes, (1,) * len(shape))
        made.append(Tensor(building.add(name, op, value), tuple(range(len(shape)))))
    return made


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
    "Reshape": _reshape,
    "Transpose": _transpose,
    "ExpandDims": _expand,
    "Squeeze": _squeeze,
    "GetItem": _item,
    "Split": _split,
}
