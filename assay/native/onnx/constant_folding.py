"""ONNX operations on known values, computed while the file is read: shapes, mostly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.native.graph import Array
from assay.native.onnx.model import DTYPES, OnnxOp, check_size, unsupported_file

# The batch in a shape that is computed from a value's: a number that no real size is.
BATCH = 1_000_003


def has_batch(values: Array) -> bool:
    return bool(_batches(values).any())


def _batches(values: Array) -> Array:
    """Where a number is the batch, or its product with other sizes."""
    if values.dtype == bool:
        return np.zeros(values.shape, bool)
    return np.asarray((values != 0) & (values % BATCH == 0))


Inputs = list[Any]  # arrays; None for an input that is left out
Fold = Callable[[OnnxOp, Inputs], Any]


def fold(node: OnnxOp, inputs: Inputs) -> list[Array] | None:
    """The node's outputs, where all its inputs are known; None for what is not folded."""
    if node.kind == "Split":
        return _split(node, inputs)
    fold = FOLDS.get(node.kind)
    with np.errstate(all="ignore"):
        result = fold(node, inputs) if fold else None
    return None if result is None else [np.asarray(result)]


def _optional(inputs: Inputs, number: int) -> Any:
    return inputs[number] if number < len(inputs) else None


def split_sizes(size: int, count: int) -> list[int]:
    """Equal parts, of which the last is smaller where they do not fit."""
    part = -(-size // count)
    return [min(part, max(size - part * number, 0)) for number in range(count)]


def _split(node: OnnxOp, inputs: Inputs) -> list[Array]:
    axis = node.attributes.get("axis", 0)
    sizes = _optional(inputs, 1)
    sizes = node.attributes.get("split") if sizes is None else sizes
    sizes = split_sizes(inputs[0].shape[axis], len(node.outputs)) if sizes is None else sizes
    return list(np.split(inputs[0], np.cumsum(sizes)[:-1], axis))


def _constant(node: OnnxOp, inputs: Inputs) -> Any:
    ((name, value),) = node.attributes.items()
    dtypes: dict[str, Any] = {"value_int": np.int64, "value_ints": np.int64}
    dtypes |= {"value_float": np.float32, "value_floats": np.float32}
    return np.array(value, dtypes.get(name))


def _axes(node: OnnxOp, inputs: Inputs) -> tuple[int, ...]:
    axes = _optional(inputs, 1)
    return tuple(
        int(axis) for axis in np.ravel(node.attributes.get("axes", ()) if axes is None else axes)
    )


def _unsqueeze(node: OnnxOp, inputs: Inputs) -> Array:
    return np.expand_dims(inputs[0], _axes(node, inputs))


def _squeeze(node: OnnxOp, inputs: Inputs) -> Any:
    return np.squeeze(inputs[0], _axes(node, inputs) or None)


def _slice(node: OnnxOp, inputs: Inputs) -> Array:
    values = inputs[0]
    parts: list[Any] = [
        node.attributes.get(name) if node.opset < 10 else _optional(inputs, number)
        for number, name in enumerate(("starts", "ends", "axes"), 1)
    ]
    starts, ends, axes = parts
    axes = range(len(starts)) if axes is None else axes
    steps = _optional(inputs, 4)
    steps = [1] * len(starts) if steps is None else steps
    keys = [slice(None)] * values.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        keys[int(axis)] = slice_of(values.shape[int(axis)], int(start), int(end), int(step))
    return np.asarray(values[tuple(keys)])


def slice_of(size: int, start: int, end: int, step: int) -> slice:
    """ONNX's slice as one of Python: an end before the first number is no number from the back."""
    return slice(start, None if step < 0 and end < -size else end, step)


def _reshape(node: OnnxOp, inputs: Inputs) -> Array:
    values, shape = inputs[0], inputs[1].tolist()
    if not node.attributes.get("allowzero", 0):
        shape = [size or values.shape[axis] for axis, size in enumerate(shape)]
    return np.asarray(values.reshape(shape))


def _constant_of_shape(node: OnnxOp, inputs: Inputs) -> Array:
    value = node.attributes.get("value", np.zeros(1, np.float32))
    return np.full(check_size(_batch_of_one(inputs[0])), value.ravel()[0], value.dtype)


def _tile(node: OnnxOp, inputs: Inputs) -> Array:
    times = _batch_of_one(inputs[1])
    check_size((inputs[0].size, *times))
    return np.tile(inputs[0], times)


def _range(node: OnnxOp, inputs: Inputs) -> Array:
    start, limit, step = (each.item() for each in inputs)
    if not step:
        raise unsupported_file("A Range has a step of 0.")
    check_size((math.ceil(max(0, (limit - start) / step)),))
    return np.arange(start, limit, step, dtype=inputs[0].dtype)


def _batch_of_one(shape: Array) -> tuple[int, ...]:
    """What is the same for every item is known once: a batch of one fits any other."""
    return tuple(1 if size == BATCH else int(size) for size in shape)


def _expand(node: OnnxOp, inputs: Inputs) -> Array:
    shape = np.broadcast_shapes(inputs[0].shape, _batch_of_one(inputs[1]))
    return np.broadcast_to(inputs[0], shape)


def _divide(node: OnnxOp, inputs: Inputs) -> Any:
    """Of integers, cut toward zero."""
    first, second = inputs
    if not np.issubdtype(first.dtype, np.integer):
        return np.asarray(first / second)
    quotient = np.abs(first) // np.abs(second)
    return np.where((first < 0) != (second < 0), -quotient, quotient).astype(first.dtype)


def _cast(node: OnnxOp, inputs: Inputs) -> Array | None:
    dtype = DTYPES.get(node.attributes["to"])
    return None if dtype is None else inputs[0].astype(dtype)


def _by(function: Callable[..., Any]) -> Fold:
    """By numpy's function of the inputs, in the type of the first."""
    return lambda node, inputs: function(*inputs).astype(inputs[0].dtype)


def _truth(function: Callable[..., Any]) -> Fold:
    return lambda node, inputs: function(*inputs)


def _compare(function: Callable[..., Any], least: int = 0) -> Fold:
    """A batch, whose size is unknown here, only with numbers up to `least`, which it exceeds."""

    def compare(node: OnnxOp, inputs: Inputs) -> Any:
        first, second = inputs
        unknown = (_batches(first) & (second > least)) | (_batches(second) & (first > least))
        return None if (unknown & (first != second)).any() else function(first, second)

    return compare


def _of_many(fold: Fold) -> Fold:
    def combine(node: OnnxOp, inputs: Inputs) -> Any:
        result = inputs[0]
        for each in inputs[1:]:
            result = None if result is None else fold(node, [result, each])
        return result

    return combine


def _remainder(node: OnnxOp, inputs: Inputs) -> Array | None:
    function = np.fmod if node.attributes.get("fmod", 0) else np.mod
    return None if any(map(has_batch, inputs)) else np.asarray(function(*inputs))


def _running_sum(node: OnnxOp, inputs: Inputs) -> Array:
    values, axis = inputs[0], inputs[1].item()
    values = np.flip(values, axis) if node.attributes.get("reverse", 0) else values
    sums = np.asarray(np.cumsum(values, axis, dtype=values.dtype))
    sums = sums - values if node.attributes.get("exclusive", 0) else sums
    return np.flip(sums, axis) if node.attributes.get("reverse", 0) else sums


def _triangle(node: OnnxOp, inputs: Inputs) -> Array:
    cut = np.triu if node.attributes.get("upper", 1) else np.tril
    diagonal = _optional(inputs, 1)
    return cut(inputs[0], 0 if diagonal is None else diagonal.item())


def _scatter(node: OnnxOp, inputs: Inputs) -> Array:
    values, places, updates = inputs
    result = values.copy()
    result[tuple(np.moveaxis(places, -1, 0))] = updates
    return np.asarray(result)


def _resize(node: OnnxOp, inputs: Inputs) -> Array | None:
    from assay.native.onnx.resize import resize_known  # which is made of the graph's operations

    return resize_known(node, inputs)


def _shape(node: OnnxOp, inputs: Inputs) -> Array:
    sizes = inputs[0].shape
    end = node.attributes.get("end", len(sizes))
    return np.array(sizes[node.attributes.get("start", 0) : end], np.int64)


def _flatten(node: OnnxOp, inputs: Inputs) -> Array:
    axis = node.attributes.get("axis", 1)
    axis = axis + inputs[0].ndim if axis < 0 else axis
    return np.asarray(inputs[0].reshape(math.prod(inputs[0].shape[:axis]), -1))


def _reduce(function: Callable[..., Any]) -> Fold:
    def reduce(node: OnnxOp, inputs: Inputs) -> Any:
        keeps = bool(node.attributes.get("keepdims", 1))
        axes = _axes(node, inputs)
        if not axes and node.attributes.get("noop_with_empty_axes", 0):
            return inputs[0]
        result = function(inputs[0], axis=axes or None, keepdims=keeps)
        return result.astype(inputs[0].dtype)

    return reduce


def _axis(node: OnnxOp) -> int:
    return int(node.attributes.get("axis", 0))


FOLDS: dict[str, Fold] = {
    "ScatterND": _scatter,
    "Resize": _resize,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "Identity": lambda node, inputs: inputs[0],
    "Cast": _cast,
    "Gather": lambda node, inputs: np.take(inputs[0], inputs[1].astype(np.int64), _axis(node)),
    "GatherElements": lambda node, inputs: np.take_along_axis(inputs[0], inputs[1], _axis(node)),
    "Concat": lambda node, inputs: np.concatenate(inputs, _axis(node)),
    "Unsqueeze": _unsqueeze,
    "Squeeze": _squeeze,
    "Slice": _slice,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Transpose": lambda node, inputs: np.transpose(inputs[0], node.attributes.get("perm")),
    "Div": _divide,
    "Mod": _remainder,
    "Trilu": _triangle,
    "Tile": _tile,
    "CumSum": _running_sum,
    "Range": _range,
    "Expand": _expand,
    "Shape": _shape,
    "Size": lambda node, inputs: np.array(inputs[0].size, np.int64),
    "Sum": _of_many(_truth(np.add)),
    "Max": _of_many(_compare(np.maximum, least=1)),
    "Min": _of_many(_compare(np.minimum, least=1)),
    "IsNaN": _truth(np.isnan),
    "Where": _truth(np.where),
}
_PLAIN: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Pow": np.power,
    "Sqrt": np.sqrt,
    "Neg": np.negative,
    "Abs": np.abs,
    "Exp": np.exp,
    "Log": np.log,
    "Sin": np.sin,
    "Cos": np.cos,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Not": np.logical_not,
}
_COMPARED = {"Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal}
_COMPARED |= {"Greater": np.greater, "GreaterOrEqual": np.greater_equal}
_REDUCED: dict[str, Callable[..., Any]] = {
    "ReduceProd": np.prod,
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
}
_REDUCED |= {"ReduceMin": np.min}
FOLDS |= {name: _reduce(function) for name, function in _REDUCED.items()}
FOLDS |= {name: _by(function) for name, function in _PLAIN.items()}
FOLDS |= {name: _compare(function) for name, function in _COMPARED.items()}
