"""Operators of ONNX that are layers: convolutions, pools, products of matrices, norms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from assay.native import ops
from assay.native.graph import Array, Shape
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import Importing, refusal


def _weight(model: Importing, node: OnnxOp, which: int) -> Array | None:
    """A known input; None where it is left out."""
    if which >= len(node.inputs) or not node.inputs[which]:
        return None
    return np.asarray(model.weight(node, which), np.float32)


def _held(model: Importing, node: OnnxOp, part: str, values: Array | None) -> str:
    return "" if values is None else model.building.constant(f"{node.outputs[0]}/{part}", values)


def _as_image(model: Importing, node: OnnxOp) -> str:
    """Its input as an image; what has one axis beside its channels is one row of pixels."""
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    if len(shape) == 2:
        return model.add(node, ops.ReshapeOp((shape[0], 1, shape[1])), value)
    if len(shape) != 3:
        raise refusal(node, f"its input is of shape {shape}, and images have two axes of pixels")
    return value


def _restore_rank(model: Importing, node: OnnxOp, value: str) -> str:
    """With as many axes as the input had."""
    channels, height, width = model.shape(value)
    if len(model.shape(model.values[node.inputs[0]])) == 3:
        return value
    assert height == 1
    return model.add(node, ops.ReshapeOp((channels, width)), value)


def _two(numbers: Any, usual: int) -> ops.Pair:
    pair = tuple(numbers or ())
    first, second = (usual, *pair) if len(pair) == 1 else (pair or (usual, usual))
    return int(first), int(second)


def _pads(node: OnnxOp, shape: Shape, reach: ops.Pair, strides: ops.Pair) -> ops.Pads:
    explicit = tuple(node.attributes.get("pads", ()))
    way = node.attributes.get("auto_pad", "NOTSET")
    if way in ("NOTSET", "VALID"):
        half = len(explicit) // 2
        first, last = _two(explicit[:half], 0), _two(explicit[half:], 0)
        return (0, 0, 0, 0) if way == "VALID" else (*first, *last)
    before, after = [], []
    for size, window, stride in zip(shape[1:], reach, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + window - size, 0)
        less = total // 2 if way == "SAME_UPPER" else total - total // 2
        before.append(less)
        after.append(total - less)
    return (before[0], before[1], after[0], after[1])


def _conv(model: Importing, node: OnnxOp) -> str:
    weight, bias = _weight(model, node, 1), _weight(model, node, 2)
    assert weight is not None
    value = _as_image(model, node)
    kernel = weight[:, :, None] if weight.ndim == 3 else weight
    strides, dilations = (_two(node.attributes.get(k), 1) for k in ("strides", "dilations"))
    reach = [(kernel.shape[2 + axis] - 1) * dilations[axis] + 1 for axis in (0, 1)]
    op = ops.ConvOp(
        weight=_held(model, node, "weight", kernel),
        bias=_held(model, node, "bias", bias),
        strides=strides,
        pads=_pads(node, model.shape(value), (reach[0], reach[1]), strides),
        dilations=dilations,
        groups=int(node.attributes.get("group", 1)),
    )
    return _restore_rank(model, node, model.add(node, op, value))


def _conv_transpose(model: Importing, node: OnnxOp) -> str:
    weight, bias = _weight(model, node, 1), _weight(model, node, 2)
    if weight is None or weight.ndim != 4 or "output_shape" in node.attributes:
        raise refusal(node, "only those over images, padded by numbers, can")
    if node.attributes.get("auto_pad", "NOTSET") != "NOTSET":
        raise refusal(node, f"its auto_pad is {node.attributes['auto_pad']}")
    top, left, bottom, right = node.attributes.get("pads", (0, 0, 0, 0))
    more = _two(node.attributes.get("output_padding"), 0)
    op = ops.ConvTransposeOp(
        weight=_held(model, node, "weight", weight),
        bias=_held(model, node, "bias", bias),
        strides=_two(node.attributes.get("strides"), 1),
        pads=(top, left, bottom - more[0], right - more[1]),
        dilations=_two(node.attributes.get("dilations"), 1),
        groups=int(node.attributes.get("group", 1)),
    )
    return model.add(node, op, _as_image(model, node))


def _pool(kind: Any) -> Callable[[Importing, OnnxOp], str]:
    def add(model: Importing, node: OnnxOp) -> str:
        value = _as_image(model, node)
        window = _two(node.attributes["kernel_shape"], 1)
        strides = _two(node.attributes.get("strides"), 1)
        if _two(node.attributes.get("dilations"), 1) != (1, 1):
            raise refusal(node, "its window has gaps")
        pads = _pads(node, model.shape(value), window, strides)
        if node.attributes.get("ceil_mode", 0):
            pads = _up(node, model.shape(value), window, strides, pads)
        if kind == "average" and any(pads) and node.attributes.get("count_include_pad", 0):
            if node.attributes.get("ceil_mode", 0):
                raise refusal(node, "it counts padding, and rounds up")
            value = model.add(node, ops.PadOp(pads), value)
            pads = (0, 0, 0, 0)
        pooled = model.add(node, ops.PoolOp(kind, window, strides, pads), value)
        return _restore_rank(model, node, pooled)

    return add


def _up(
    node: OnnxOp, shape: Shape, window: ops.Pair, strides: ops.Pair, pads: ops.Pads
) -> ops.Pads:
    """Padding at the end, so that a window that begins inside the image is counted."""
    padded = list(pads)
    for axis in (0, 1):
        whole = shape[1 + axis] + pads[axis] + pads[2 + axis]
        windows = -(-(whole - window[axis]) // strides[axis]) + 1
        if (windows - 1) * strides[axis] >= shape[1 + axis] + pads[axis]:
            windows -= 1  # it would begin in the padding
        padded[2 + axis] += max(0, (windows - 1) * strides[axis] + window[axis] - whole)
    return (padded[0], padded[1], padded[2], padded[3])


def _global(kind: Any) -> Callable[[Importing, OnnxOp], str]:
    def add(model: Importing, node: OnnxOp) -> str:
        value = model.values[node.inputs[0]]
        rank = len(model.shape(value))
        if rank == 3:
            pooled = model.add(node, ops.GlobalPoolOp(kind), value)
            return model.add(node, ops.ReshapeOp((*model.shape(pooled), 1, 1)), pooled)
        word: Any = "mean" if kind == "average" else "max"
        return model.add(node, ops.ReduceOp(word, tuple(range(1, rank))), value)

    return add


def _gemm(model: Importing, node: OnnxOp) -> str:
    if not model.batched:
        return _gemm_of_matrices(model, node)
    weight, bias = _weight(model, node, 1), _weight(model, node, 2)
    assert weight is not None
    if node.attributes.get("transA", 0):
        raise refusal(node, "its first matrix, the batch, is transposed")
    weight = weight if node.attributes.get("transB", 0) else weight.T
    weight = weight * np.float32(node.attributes.get("alpha", 1.0))
    if bias is not None:
        if bias.ndim > 1 and len(bias) > 1 and (bias != bias[:1]).any():
            raise refusal(node, f"its bias of {bias.shape} differs between items")
        bias = bias[0] if bias.ndim > 1 else bias
        bias = np.broadcast_to(bias * np.float32(node.attributes.get("beta", 1.0)), len(weight))
    op = ops.DenseOp(_held(model, node, "weight", weight), _held(model, node, "bias", bias))
    return model.add(node, op, model.values[node.inputs[0]])


def _gemm_of_matrices(model: Importing, node: OnnxOp) -> str:
    first, second = (
        model.add(node, ops.TransposeOp((1, 0)), value) if node.attributes.get(name, 0) else value
        for name, value in zip(("transA", "transB"), model.pair(node, node.inputs[:2]), strict=True)
    )
    value = model.add(node, ops.MatMulOp(), first, second)
    value = _scale(model, node, value, node.attributes.get("alpha", 1.0))
    if len(node.inputs) < 3 or not node.inputs[2]:
        return value
    (bias,) = model.pair(node, node.inputs[2:])
    bias = _scale(model, node, bias, node.attributes.get("beta", 1.0))
    return model.add(node, ops.BinaryOp("add"), value, model.with_rank(node, bias, 2))


def _scale(model: Importing, node: OnnxOp, value: str, factor: float) -> str:
    if factor == 1:
        return value
    number = model.as_constant(node, factor, len(model.shape(value)))
    return model.add(node, ops.BinaryOp("multiply"), value, number)


def _matmul(model: Importing, node: OnnxOp) -> str:
    first, second = node.inputs
    if second in model.known and model.known[second].ndim < 3:
        weight = np.asarray(model.known[second], np.float32)
        op = ops.DenseOp(_held(model, node, "weight", np.atleast_2d(weight.T)))
        value = model.add(node, op, model.values[first])
        return _without_axis(model, node, value, -1) if weight.ndim == 1 else value
    if not model.batched:
        return _product(model, node)
    value = model.add(node, ops.MatMulOp(), *model.pair(node, node.inputs))
    vector = first in model.known and model.known[first].ndim == 1
    return _without_axis(model, node, value, -2) if vector else value


def _product(model: Importing, node: OnnxOp) -> str:
    """Of values whose ranks may differ, as numpy's."""
    first, second = (model.pair(node, [name])[0] for name in node.inputs)
    vectors = [len(model.shape(value)) == 1 for value in (first, second)]
    if vectors[1]:
        second = model.add(node, ops.ReshapeOp((*model.shape(second), 1)), second)
    rank = max(2, len(model.shape(first)), len(model.shape(second)))
    both = (model.with_rank(node, value, rank) for value in (first, second))
    value = model.add(node, ops.MatMulOp(), *both)
    value = _without_axis(model, node, value, -2) if vectors[0] else value
    return _without_axis(model, node, value, -1) if vectors[1] else value


def _without_axis(model: Importing, node: OnnxOp, value: str, axis: int) -> str:
    """Without the axis of size 1 that a vector has as a matrix."""
    shape = list(model.shape(value))
    del shape[axis]
    return model.item(node, value, tuple(shape))


def _batch_norm(model: Importing, node: OnnxOp) -> str:
    if node.opset < 7 and not node.attributes.get("is_test", 0):
        raise refusal(node, "it is in training mode; supported: is_test=1")
    parts = [_weight(model, node, which) for which in range(1, 5)]
    gamma, beta, mean, variance = (
        _held(model, node, part, weight)
        for part, weight in zip(("gamma", "beta", "mean", "variance"), parts, strict=True)
    )
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    op = ops.BatchNormOp(mean, variance, gamma, beta, epsilon)
    return model.add(node, op, model.values[node.inputs[0]])


def _layer_norm(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    first = model.item_axis(node, node.attributes.get("axis", -1), len(shape))
    sizes = shape[first:]
    weights = [_weight(model, node, which) for which in (1, 2)]
    gamma, beta = (
        _held(model, node, part, None if each is None else np.broadcast_to(each, sizes))
        for part, each in zip(("gamma", "beta"), weights, strict=True)
    )
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    axes = tuple(range(first, len(shape)))
    _note_moments(model, node, value, axes, epsilon)
    return model.add(node, ops.LayerNormOp(axes, gamma, beta, epsilon), value)


def _note_moments(
    model: Importing, node: OnnxOp, value: str, axes: tuple[int, ...], epsilon: float
) -> None:
    """Its further outputs, where they are used: mean, and 1 / sqrt(variance + epsilon)."""
    if not model.used.intersection(node.outputs[1:]):
        return
    rank = len(model.shape(value))
    mean = model.add(node, ops.ReduceOp("mean", axes), value)
    centered = model.add(node, ops.BinaryOp("subtract"), value, mean)
    square = model.add(node, ops.ActivationOp("square"), centered)
    variance = model.add(node, ops.ReduceOp("mean", axes), square)
    wide = model.add(node, ops.BinaryOp("add"), variance, model.as_constant(node, epsilon, rank))
    root = model.add(node, ops.ActivationOp("sqrt"), wide)
    moments = (mean, model.add(node, ops.ActivationOp("reciprocal"), root))
    model.values |= zip(node.outputs[1:], moments, strict=False)


def _instance_norm(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    rank = len(model.shape(value))
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    op = ops.LayerNormOp(tuple(range(1, rank)), epsilon=epsilon)
    value = model.add(node, op, value)
    for kind, which in (("multiply", 1), ("add", 2)):
        weight = _weight(model, node, which)
        assert weight is not None
        wide = model.as_constant(node, weight.reshape(-1, *(1,) * (rank - 1)), rank)
        value = model.add(node, ops.BinaryOp(kind), value, wide)  # type: ignore[arg-type]
    return value


def _group_norm(model: Importing, node: OnnxOp) -> str:
    """Before opset 21 there is one factor for each group, then one for each channel."""
    value = model.values[node.inputs[0]]
    shape, groups = model.shape(value), int(node.attributes["num_groups"])
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    rows = (groups, math.prod(shape) // groups)
    value = model.add(node, ops.ReshapeOp(rows), value)
    value = model.add(node, ops.LayerNormOp((1,), epsilon=epsilon), value)
    value = model.add(node, ops.ReshapeOp(shape), value)
    for kind, which in (("multiply", 1), ("add", 2)):
        weight = _weight(model, node, which)
        assert weight is not None
        each = np.repeat(weight, shape[0] // weight.size).reshape(-1, *(1,) * (len(shape) - 1))
        wide = model.as_constant(node, each, len(shape))
        value = model.add(node, ops.BinaryOp(kind), value, wide)  # type: ignore[arg-type]
    return value


def _local_norm(model: Importing, node: OnnxOp) -> str:
    numbers = [
        float(node.attributes.get(name, usual))
        for name, usual in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    ]
    op = ops.LocalNormOp(int(node.attributes["size"]), *numbers)
    return model.add(node, op, model.values[node.inputs[0]])


def _flatten(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape, axis = model.shape(value), node.attributes.get("axis", 1)
    if not model.batched:
        axis = axis + len(shape) if axis < 0 else axis
        return model.item(node, value, (math.prod(shape[:axis]), math.prod(shape[axis:])))
    if axis not in (1, -len(shape)):
        raise refusal(node, "it joins the batch with other axes")
    return model.add(node, ops.ReshapeOp((math.prod(shape),)), value)


HANDLERS: dict[str, Callable[[Importing, OnnxOp], str]] = {
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "MaxPool": _pool("max"),
    "AveragePool": _pool("average"),
    "GlobalMaxPool": _global("max"),
    "GlobalAveragePool": _global("average"),
    "Gemm": _gemm,
    "MatMul": _matmul,
    "BatchNormalization": _batch_norm,
    "LayerNormalization": _layer_norm,
    "InstanceNormalization": _instance_norm,
    "GroupNormalization": _group_norm,
    "Flatten": _flatten,
    "LRN": _local_norm,
}
