"""Operators of ONNX that move numbers: other shapes, orders and parts, and rows of a table."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from assay.native import ops
from assay.native.onnx.constant_folding import BATCH, slice_of, split_sizes
from assay.native.onnx.model import OnnxOp, check_size
from assay.native.onnx.read import Importing, refusal
from assay.native.onnx.reshape import reshape
from assay.native.onnx.resize import resize
from assay.native.onnx.rows import slice_value, take_rows, transpose_value


def _numbers(model: Importing, node: OnnxOp, which: int, name: str) -> list[int] | None:
    """Integers that newer files have as an input and older ones as an attribute."""
    if which < len(node.inputs) and node.inputs[which]:
        if node.inputs[which] not in model.known:
            raise refusal(node, f"its {name} are computed from what is only known when it runs")
        return [int(each) for each in np.ravel(model.known[node.inputs[which]])]
    values = node.attributes.get(name)
    return None if values is None else [int(each) for each in values]


def _reshape(model: Importing, node: OnnxOp) -> str:
    return reshape(model, node, _numbers(model, node, 1, "shape") or [])


def _expand(model: Importing, node: OnnxOp) -> str:
    """Repeated along axes of size 1: a product with ones of the other sizes."""
    value, sizes = model.values[node.inputs[0]], _numbers(model, node, 1, "shape") or []
    rank = len(model.shape(value))
    if not model.batched:
        rank = max(rank, len(sizes))
        value = model.with_rank(node, value, rank)
        shape = np.broadcast_shapes(model.shape(value), sizes)
        if shape == model.shape(value):
            return value
    elif len(sizes) > rank:
        if len(sizes) > rank + 1 or sizes[0] not in (1, BATCH, model.batch):
            raise refusal(node, f"it makes {tuple(sizes)} of a batch of {model.shape(value)}")
        sizes = sizes[1:]
    ones = model.as_constant(node, np.ones(check_size(sizes), np.float32), rank)
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
    if model.batched:
        order = tuple(axis - 1 for axis in node.attributes["perm"][1:])
    else:
        order = node.attributes.get("perm", tuple(reversed(range(len(model.shape(value))))))
    still = order == tuple(range(len(order)))
    return value if still else model.add(node, ops.TransposeOp(order), value)


def _squeeze(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    numbers = _numbers(model, node, 1, "axes")
    if numbers is None and model.batched:
        raise refusal(node, "its axes are not known, and the batch may be one of them")
    if numbers is None:
        axes = tuple(axis for axis, size in enumerate(shape) if size == 1)
    else:
        axes = model.item_axes(node, numbers, len(shape))
    return model.item(node, value, tuple(n for axis, n in enumerate(shape) if axis not in axes))


def _unsqueeze(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape, axes = list(model.shape(value)), _numbers(model, node, 1, "axes") or []
    for axis in model.item_axes(node, axes, len(shape) + len(axes)):
        shape.insert(axis, 1)
    return model.add(node, ops.ReshapeOp(tuple(shape)), value)


def _concat(model: Importing, node: OnnxOp) -> str:
    rank = next(len(model.shape(model.values[n])) for n in node.inputs if n in model.values)
    axis = model.item_axis(node, node.attributes["axis"], rank)
    values = [
        model.values[name]
        if name in model.values
        else model.as_constant(node, model.known[name], rank)
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
        if (
            model.batched
            and axis in (0, -len(shape) - 1)
            and start == 0
            and end >= BATCH
            and step == 1
        ):
            continue  # all of the batch
        at = model.item_axis(node, axis, len(shape))
        rows[at] = range(shape[at])[slice_of(shape[at], start, end, step)]
    return slice_value(model, node, value, rows)


def split(model: Importing, node: OnnxOp) -> None:
    """The one operator here that has several outputs."""
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    axis = model.item_axis(node, node.attributes.get("axis", 0), len(shape))
    sizes = _numbers(model, node, 1, "split") or split_sizes(shape[axis], len(node.outputs))
    if sum(sizes) != shape[axis]:
        raise refusal(node, f"parts of {sizes} do not add up to {shape[axis]}")
    start = 0
    for name, size in zip(node.outputs, sizes, strict=True):
        rows = [range(whole) for whole in shape]
        rows[axis] = range(start, start + size)
        model.values[name] = slice_value(model, node, value, rows)
        start += size


def _gather(model: Importing, node: OnnxOp) -> str:
    """Rows of a table by computed indices, or known rows of a value."""
    table, indices = node.inputs
    axis = node.attributes.get("axis", 0)
    if indices not in model.known:
        return _gather_by_values(model, node, table, model.values[indices], axis)
    shape = model.shape(model.values[table])
    at = model.item_axis(node, axis, len(shape))
    positions = model.known[indices].astype(np.int64)
    if ((positions < -shape[at]) | (positions >= shape[at])).any():
        raise refusal(node, f"its indices exceed the {shape[at]} rows of axis {axis}")
    positions = positions % shape[at]
    value = take_rows(model, node, model.values[table], at, positions.ravel().tolist())
    return model.item(node, value, (*shape[:at], *positions.shape, *shape[at + 1 :]))


def _gather_by_values(model: Importing, node: OnnxOp, table: str, indices: str, axis: int) -> str:
    """Of a known table; of a computed one where the file has no batch, whose rows it would mix."""
    known = table in model.known
    shape = model.known[table].shape if known else model.shape(model.values[table])
    axis = axis % len(shape)
    if model.batched and (not known or axis):
        why = f"of a table of {shape} along axis {axis}" if known else "its rows are computed"
        raise refusal(node, why)
    order = (axis, *(each for each in range(len(shape)) if each != axis))
    rest = tuple(shape[each] for each in order[1:])
    sizes = model.shape(indices)
    if known:
        rows = np.asarray(model.known[table], np.float32).transpose(order)
        weight = model.building.constant(
            f"{node.outputs[0]}/table", rows.reshape(shape[axis], math.prod(rest))
        )
        flat = model.item(node, indices, sizes or (1,))
        value = model.add(node, ops.EmbeddingOp(weight, checked=True), flat)
    else:
        value = transpose_value(model, node, model.values[table], order)
        value = model.add(node, ops.ReshapeOp((shape[axis], math.prod(rest))), value)
        flat = model.add(node, ops.ReshapeOp((math.prod(sizes),)), indices)
        value = model.add(node, ops.GatherOp(), value, flat)
    value = model.item(node, value, (*sizes, *rest))
    count = len(sizes)
    turn = (*range(count, count + axis), *range(count), *range(count + axis, count + len(rest)))
    return transpose_value(model, node, value, turn)


def _pad(model: Importing, node: OnnxOp) -> str:
    """Axis by axis: rows of a constant, or of the value itself."""
    value = model.values[node.inputs[0]]
    rank = len(model.shape(value)) + model.batched
    pads = _numbers(model, node, 1, "pads") or [0] * 2 * rank
    if len(node.inputs) > 3 and node.inputs[3]:
        axes = [axis % rank for axis in _numbers(model, node, 3, "axes") or []]
        some, pads = pads, [0] * 2 * rank
        for at, axis in enumerate(axes):
            pads[axis], pads[rank + axis] = some[at], some[len(axes) + at]
    if model.batched and (pads[0] or pads[rank]):
        raise refusal(node, f"the padding {tuple(pads)} is not around an item")
    number = node.attributes.get("value", 0.0)
    if len(node.inputs) > 2 and node.inputs[2]:
        number = model.weight(node, 2).item()
    mode = node.attributes.get("mode", "constant")
    before, after = pads[model.batched : rank], pads[rank + model.batched :]
    zeros = mode == "constant" and not number and min(pads) >= 0
    if zeros and len(before) == 3 and not before[0] and not after[0]:
        op = ops.PadOp((before[1], before[2], after[1], after[2]))
        return model.add(node, op, value) if any(pads) else value
    for axis, both in enumerate(zip(before, after, strict=True)):
        value = _pad_value(model, node, value, axis, both, mode, number)
    return value


def _pad_value(
    model: Importing,
    node: OnnxOp,
    value: str,
    axis: int,
    pads: tuple[int, int],
    mode: str,
    number: float,
) -> str:
    shape = model.shape(value)
    cut = np.arange(shape[axis])[max(0, -pads[0]) : shape[axis] - max(0, -pads[1])]
    wide = (max(0, pads[0]), max(0, pads[1]))
    if mode != "constant":
        positions = np.pad(cut, wide, mode)  # type: ignore[call-overload]
        same = len(positions) == shape[axis] and pads == (0, 0)
        return value if same else take_rows(model, node, value, axis, positions.tolist())
    if len(cut) < shape[axis]:
        value = take_rows(model, node, value, axis, cut.tolist())
    sizes = [(*shape[:axis], n, *shape[axis + 1 :]) for n in wide]
    first, last = (
        [model.as_constant(node, np.full(check_size(size), number), len(shape))]
        if size[axis]
        else []
        for size in sizes
    )
    return model.add(node, ops.ConcatenateOp(axis), *first, value, *last) if any(wide) else value


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
