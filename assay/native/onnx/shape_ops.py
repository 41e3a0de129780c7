"""Operators of ONNX that move numbers: other shapes, orders and parts, and rows of a table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from assay.native import ops
from assay.native.onnx.constant_folding import BATCH, slice_of, split_sizes
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import Importing, item_axes, item_axis, refused
from assay.native.onnx.reshape import reshaped
from assay.native.onnx.resize import resize
from assay.native.onnx.rows import slice_value, take_rows


def _numbers(model: Importing, node: OnnxOp, which: int, name: str) -> list[int] | None:
    """Integers that newer files have as an input and older ones as an attribute."""
    if which < len(node.inputs) and node.inputs[which]:
        if node.inputs[which] not in model.known:
            raise refused(node, f"its {name} are computed from what is only known when it runs")
        return [int(each) for each in np.ravel(model.known[node.inputs[which]])]
    told = node.attributes.get(name)
    return None if told is None else [int(each) for each in told]


def _reshape(model: Importing, node: OnnxOp) -> str:
    return reshaped(model, node, _numbers(model, node, 1, "shape") or [])


def _expand(model: Importing, node: OnnxOp) -> str:
    """Repeated along axes of size 1: a product with ones of the other sizes."""
    value, told = model.values[node.inputs[0]], _numbers(model, node, 1, "shape") or []
    rank = len(model.shape(value))
    first = told[0] if len(told) == rank + 1 else 1
    if len(told) > rank + 1 or first not in (1, BATCH, model.batch):
        raise refused(node, f"it makes {tuple(told)} of a batch of {model.shape(value)}")
    sizes = told[1:] if len(told) == rank + 1 else told
    ones = model.fixed(node, np.ones(sizes, np.float32), rank)
    return model.add(node, ops.BinaryOp("multiply"), value, ones)


def _depth_to_space(model: Importing, node: OnnxOp) -> str:
    value, block = model.values[node.inputs[0]], int(node.attributes["blocksize"])
    channels, high, wide = model.shape(value)
    left = channels // block**2
    rows = node.attributes.get("mode", "DCR") == "DCR"
    shape = (block, block, left, high, wide) if rows else (left, block, block, high, wide)
    order = (2, 3, 0, 4, 1) if rows else (0, 3, 1, 4, 2)
    value = model.add(node, ops.ReshapeOp(shape), value)
    value = model.add(node, ops.TransposeOp(order), value)
    return model.add(node, ops.ReshapeOp((left, high * block, wide * block)), value)


def _space_to_depth(model: Importing, node: OnnxOp) -> str:
    value, block = model.values[node.inputs[0]], int(node.attributes["blocksize"])
    channels, high, wide = (model.shape(value)[0], *(n // block for n in model.shape(value)[1:]))
    rows = node.attributes.get("mode", "DCR") == "DCR"
    value = model.add(node, ops.ReshapeOp((channels, high, block, wide, block)), value)
    value = model.add(node, ops.TransposeOp((2, 4, 0, 1, 3) if rows else (0, 2, 4, 1, 3)), value)
    return model.add(node, ops.ReshapeOp((channels * block**2, high, wide)), value)


def _transpose(model: Importing, node: OnnxOp) -> str:
    """With the batch as the first axis before and after: elsewhere it is only noted."""
    value = model.values[node.inputs[0]]
    order = tuple(axis - 1 for axis in node.attributes["perm"][1:])
    still = order == tuple(range(len(order)))
    return value if still else model.add(node, ops.TransposeOp(order), value)


def _squeeze(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    told = _numbers(model, node, 1, "axes")
    if told is None:
        raise refused(node, "its axes are not known, and the batch may be one of them")
    axes = item_axes(node, told, len(shape))
    left = tuple(size for axis, size in enumerate(shape) if axis not in axes)
    if not left:
        raise refused(node, "it leaves no axis but the batch")
    return model.add(node, ops.ReshapeOp(left), value)


def _unsqueeze(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape, told = list(model.shape(value)), _numbers(model, node, 1, "axes") or []
    for axis in item_axes(node, told, len(shape) + len(told)):
        shape.insert(axis, 1)
    return model.add(node, ops.ReshapeOp(tuple(shape)), value)


def _concat(model: Importing, node: OnnxOp) -> str:
    rank = next(len(model.shape(model.values[n])) for n in node.inputs if n in model.values)
    axis = item_axis(node, node.attributes["axis"], rank)
    values = [
        model.values[name] if name in model.values else model.fixed(node, model.known[name], rank)
        for name in node.inputs
    ]
    return model.add(node, ops.ConcatenateOp(axis), *values)


def _slice(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    starts, ends = (_numbers(model, node, at, n) or [] for at, n in ((1, "starts"), (2, "ends")))
    axes = _numbers(model, node, 3, "axes") or list(range(len(starts)))
    steps = _numbers(model, node, 4, "steps") or [1] * len(starts)
    rows = [range(size) for size in shape]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if axis in (0, -len(shape) - 1) and start == 0 and end >= BATCH and step == 1:
            continue  # all of the batch
        at = item_axis(node, axis, len(shape))
        rows[at] = range(shape[at])[slice_of(shape[at], start, end, step)]
    return slice_value(model, node, value, rows)


def split(model: Importing, node: OnnxOp) -> None:
    """The one operator here that has several outputs."""
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    axis = item_axis(node, node.attributes.get("axis", 0), len(shape))
    sizes = _numbers(model, node, 1, "split") or split_sizes(shape[axis], len(node.outputs))
    if sum(sizes) != shape[axis]:
        raise refused(node, f"parts of {sizes} do not add up to {shape[axis]}")
    start = 0
    for name, size in zip(node.outputs, sizes, strict=True):
        rows = [range(whole) for whole in shape]
        rows[axis] = range(start, start + size)
        model.values[name] = slice_value(model, node, value, rows)
        start += size


def _gather(model: Importing, node: OnnxOp) -> str:
    """Rows of a known table by computed indices, or known rows of a value."""
    table, indices = node.inputs
    axis = node.attributes.get("axis", 0)
    if table in model.known:
        values = model.known[table]
        if values.ndim not in (1, 2) or axis not in (0, -values.ndim):
            raise refused(node, f"a table of {values.shape} along axis {axis}")
        rows = np.asarray(values, np.float32).reshape(len(values), -1)
        weight = model.building.constant(f"{node.outputs[0]}/table", rows)
        op = ops.EmbeddingOp(weight, checked=True)
        value = model.add(node, op, model.values[indices])
        flat = model.shape(value)[:-1]
        return model.add(node, ops.ReshapeOp(flat), value) if values.ndim == 1 else value
    shape = model.shape(model.values[table])
    at = item_axis(node, axis, len(shape))
    positions = model.weight(node, 1).astype(np.int64)
    if ((positions < -shape[at]) | (positions >= shape[at])).any():
        raise refused(node, f"its indices exceed the {shape[at]} rows of axis {axis}")
    positions = positions % shape[at]
    value = take_rows(model, node, model.values[table], at, positions.ravel().tolist())
    left = (*shape[:at], *positions.shape, *shape[at + 1 :])
    if positions.ndim == 1:
        return value
    if not left:
        raise refused(node, "it leaves no axis but the batch")
    return model.add(node, ops.ReshapeOp(left), value)


def _pad(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    rank = len(model.shape(value)) + 1
    pads = _numbers(model, node, 1, "pads") or [0] * 2 * rank
    if len(node.inputs) > 3 and node.inputs[3]:
        axes = [axis % rank for axis in _numbers(model, node, 3, "axes") or []]
        whole = [0] * 2 * rank
        for at, axis in enumerate(axes):
            whole[axis], whole[rank + axis] = pads[at], pads[len(axes) + at]
        pads = whole
    if not any(pads):
        return value
    filled = len(node.inputs) > 2 and node.inputs[2] and np.any(model.weight(node, 2))
    if filled or node.attributes.get("value", 0):
        raise refused(node, "only zeros can be put around a value")
    if pads[0] or pads[rank] or min(pads) < 0:
        raise refused(node, f"the padding {tuple(pads)} is not around an item")
    before, after = pads[1:rank], pads[rank + 1 :]
    if rank == 4 and not before[0] and not after[0]:
        return model.add(node, ops.PadOp((pads[2], pads[3], pads[6], pads[7])), value)
    return _beside_zeros(model, node, before, after)


def _beside_zeros(model: Importing, node: OnnxOp, before: list[int], after: list[int]) -> str:
    """Zeros before and after the numbers of each axis, as values of their own."""
    value = model.values[node.inputs[0]]
    for axis, both in enumerate(zip(before, after, strict=True)):
        shape = model.shape(value)
        first, last = (
            [model.fixed(node, np.zeros((*shape[:axis], n, *shape[axis + 1 :])), len(shape))]
            if n
            else []
            for n in both
        )
        if first or last:
            value = model.add(node, ops.ConcatenateOp(axis), *first, value, *last)
    return value


HANDLERS: dict[str, Callable[[Importing, OnnxOp], str]] = {
    "Reshape": _reshape,
    "Transpose": _transpose,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Concat": _concat,
    "Expand": _expand,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "Slice": _slice,
    "Gather": _gather,
    "Pad": _pad,
    "Resize": resize,
    "Upsample": resize,
}
