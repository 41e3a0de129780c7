"""ONNX operations on known numbers, computed while the file is read: shapes, mostly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.native.graph import Array
from assay.native.onnx.model import DTYPES, OnnxOp

# The batch in a shape that is computed from a value's: a number that no real size is.
BATCH = 1_000_003

Fold = Callable[[OnnxOp, list[Array]], Any]


def folded(node: OnnxOp, inputs: list[Array]) -> list[Array] | None:
    """The node's outputs, where all its inputs are known; None for what is not folded."""
    if node.kind == "Split":
        return _split(node, inputs)
    how = FOLDS.get(node.kind)
    found = how(node, inputs) if how else None
    return None if found is None else [np.asarray(found)]


def _split(node: OnnxOp, inputs: list[Array]) -> list[Array]:
    axis = node.attributes.get("axis", 0)
    sizes = inputs[1] if len(inputs) > 1 else node.attributes.get("split")
    where: Any = len(node.outputs) if sizes is None else np.cumsum(sizes)[:-1]
    return list(np.array_split(inputs[0], where, axis))


def _constant(node: OnnxOp, inputs: list[Array]) -> Any:
    (held,) = node.attributes.values()
    if isinstance(held, float):
        return np.float32(held)
    whole = isinstance(held, tuple) and all(isinstance(each, int) for each in held)
    return np.array(held, np.int64 if whole or isinstance(held, int) else None)


def _axes(node: OnnxOp, inputs: list[Array]) -> tuple[int, ...]:
    told = inputs[1] if len(inputs) > 1 else node.attributes.get("axes", ())
    return tuple(int(axis) for axis in np.ravel(told))


def _unsqueeze(node: OnnxOp, inputs: list[Array]) -> Array:
    return np.expand_dims(inputs[0], _axes(node, inputs))


def _squeeze(node: OnnxOp, inputs: list[Array]) -> Array:
    return np.squeeze(inputs[0], _axes(node, inputs) or None)


def _slice(node: OnnxOp, inputs: list[Array]) -> Array:
    values, *rest = inputs
    if not rest:
        rest = [np.array(node.attributes[name]) for name in ("starts", "ends")]
        rest += [np.array(node.attributes["axes"])] if "axes" in node.attributes else []
    starts, ends = rest[:2]
    axes = rest[2] if len(rest) > 2 else np.arange(len(starts))
    steps = rest[3] if len(rest) > 3 else np.ones(len(starts), np.int64)
    keys = [slice(None)] * values.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        last: int | None = int(end)
        if step < 0 and end < -values.shape[axis]:
            last = None
        keys[int(axis)] = slice(int(start), last, int(step))
    return values[tuple(keys)]


def _reshape(node: OnnxOp, inputs: list[Array]) -> Array:
    shape = [size or inputs[0].shape[at] for at, size in enumerate(inputs[1].tolist())]
    return inputs[0].reshape(shape)


def _filled(node: OnnxOp, inputs: list[Array]) -> Array:
    value = node.attributes.get("value", np.zeros(1, np.float32))
    return np.full(_of_one(inputs[0]), value.ravel()[0], value.dtype)


def _of_one(shape: Array) -> tuple[int, ...]:
    """What is the same for every item is known once: a batch of one fits any other."""
    return tuple(1 if size == BATCH else int(size) for size in shape)


def _divided(node: OnnxOp, inputs: list[Array]) -> Array:
    first, second = inputs
    whole = np.issubdtype(first.dtype, np.integer)
    return np.asarray(first // second if whole else first / second)


def _by(function: Callable[..., Any]) -> Fold:
    """By numpy's function of the inputs, and nothing else."""
    return lambda node, inputs: function(*inputs)


def _compared(function: Callable[..., Any]) -> Fold:
    """Not with a batch, whose size nobody knows here."""

    def compare(node: OnnxOp, inputs: list[Array]) -> Any:
        return None if any((each == BATCH).any() for each in inputs) else function(*inputs)

    return compare


def _running_sum(node: OnnxOp, inputs: list[Array]) -> Array | None:
    if any(node.attributes.values()):  # backwards, or without the number itself
        return None
    return np.cumsum(inputs[0], inputs[1].item(), dtype=inputs[0].dtype)


def _triangle(node: OnnxOp, inputs: list[Array]) -> Array:
    cut = np.triu if node.attributes.get("upper", 1) else np.tril
    return cut(inputs[0], inputs[1].item() if len(inputs) > 1 else 0)


def _scattered(node: OnnxOp, inputs: list[Array]) -> Array | None:
    values, places, updates = inputs
    if node.attributes.get("reduction", "none") != "none":
        return None
    found = values.copy()
    found[tuple(np.moveaxis(places, -1, 0))] = updates
    return found


def _resized(node: OnnxOp, inputs: list[Array]) -> Array | None:
    from assay.native.onnx.resize import resized  # which is made of the graph's operations

    return resized(node, inputs)


def _reduced(function: Callable[..., Any]) -> Fold:
    def reduce(node: OnnxOp, inputs: list[Array]) -> Any:
        keeps = bool(node.attributes.get("keepdims", 1))
        axes = _axes(node, inputs)
        if not axes and node.attributes.get("noop_with_empty_axes", 0):
            return inputs[0]
        found = function(inputs[0], axis=axes or None, keepdims=keeps)
        return found.astype(inputs[0].dtype)

    return reduce


FOLDS: dict[str, Fold] = {
    "ScatterND": _scattered,
    "Resize": _resized,
    "Constant": _constant,
    "ConstantOfShape": _filled,
    "Identity": lambda node, inputs: inputs[0],
    "Cast": lambda node, inputs: inputs[0].astype(DTYPES[node.attributes["to"]]),
    "Gather": lambda node, inputs: np.take(
        inputs[0], inputs[1].astype(np.int64), node.attributes.get("axis", 0)
    ),
    "GatherElements": lambda node, inputs: np.take_along_axis(
        inputs[0], inputs[1], node.attributes.get("axis", 0)
    ),
    "Concat": lambda node, inputs: np.concatenate(inputs, node.attributes["axis"]),
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Reshape": _reshape,
    "Flatten": lambda node, inputs: inputs[0].reshape(
        math.prod(inputs[0].shape[: node.attributes.get("axis", 1)]), -1
    ),
    "Transpose": lambda node, inputs: np.transpose(inputs[0], node.attributes.get("perm")),
    "Div": _divided,
    "Trilu": _triangle,
    "Tile": lambda node, inputs: np.tile(inputs[0], _of_one(inputs[1])),
    "CumSum": _running_sum,
    "Range": lambda node, inputs: np.arange(*(each.item() for each in inputs)),
    "Expand": lambda node, inputs: inputs[0] * np.ones(_of_one(inputs[1]), inputs[0].dtype),
    "Shape": lambda node, inputs: np.array(inputs[0].shape, np.int64),
}
_PLAIN: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Mod": np.mod,
    "Pow": np.power,
    "Sqrt": np.sqrt,
    "Neg": np.negative,
    "Abs": np.abs,
    "Exp": np.exp,
    "Sin": np.sin,
    "Cos": np.cos,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Not": np.logical_not,
    "Equal": np.equal,
    "IsNaN": np.isnan,
    "Where": np.where,
}
_COMPARED = {"Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater}
_COMPARED |= {"GreaterOrEqual": np.greater_equal}
_REDUCED: dict[str, Callable[..., Any]] = {
    "ReduceProd": np.prod,
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
}
_REDUCED |= {"ReduceMin": np.min}
FOLDS |= {name: _reduced(function) for name, function in _REDUCED.items()}
FOLDS |= {name: _by(function) for name, function in _PLAIN.items()}
FOLDS |= {name: _compared(function) for name, function in _COMPARED.items()}
