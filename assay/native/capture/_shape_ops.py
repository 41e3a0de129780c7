"""Capture data movement of keras.ops: slices, look-ups, reshapes, concatenation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._arguments import Arg, Operator, numbers
from assay.native.capture._attention import embed
from assay.native.capture._layers import common_order
from assay.native.graph_builder import GraphBuilder, Tensor

MAX_RUNS = 256  # slices that one look-up may become


def item_axes(axis: Any, rank: int, name: str) -> list[int]:
    """Axes counted without the batch, which is refused."""
    axes = list(axis) if isinstance(axis, list | tuple) else [axis]
    if None in axes or any(n in (0, -rank - 1) for n in axes):
        raise unsupported(f"over the axes {axis}, the batch among them", name, ("an item's",))
    return [n - 1 if n > 0 else n + rank for n in axes]


def drop_axes(builder: GraphBuilder, tensor: Tensor, axes: Sequence[int], name: str) -> Tensor:
    """The tensor without these axes of size 1, counted as the tensor has them."""
    value = builder.reorder(tensor)
    shape = tuple(n for axis, n in enumerate(builder.shapes[value]) if axis not in axes)
    if not shape:
        raise unsupported("giving one number without an axis", name, ("keepdims=True",))
    return _add_reshape(builder, value, shape, name)


def _add_reshape(builder: GraphBuilder, value: str, shape: Sequence[int], name: str) -> Tensor:
    output = builder.add(name, ops.ReshapeOp(tuple(shape)), value)
    return Tensor(output, tuple(range(len(shape))))


def _reshape(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    value = builder.reorder(args[0])
    _, *shape = operation.newshape
    known = math.prod(size for size in shape if size != -1)
    count = math.prod(builder.shapes[value])
    shape = [count // known if size == -1 else size for size in shape]
    return [_add_reshape(builder, value, shape, name)]


def _transpose(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    axes = operation.axes
    if axes is None or axes[0] != 0:
        raise unsupported(f"a transpose to {axes}", name, ("one that leaves the batch first",))
    dims = [axis - 1 for axis in axes[1:]]
    return [Tensor(args[0].value, tuple(dims.index(axis) for axis in args[0].order))]


def _expand(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    value = builder.reorder(args[0])
    shape = list(builder.shapes[value])
    (axis,) = item_axes(operation.axis, len(shape) + 1, name)
    return [_add_reshape(builder, value, (*shape[:axis], 1, *shape[axis:]), name)]


def _squeeze(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    axes = item_axes(operation.axis, len(args[0].order), name)
    return [drop_axes(builder, args[0], axes, name)]


def _item(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    """`x[:, 1:, ::2]`, `x[:, None]`: ranges, integers and new axes, and all of the batch."""
    value = builder.reorder(args[0])
    shape = builder.shapes[value]
    keys = list(args[1]) if isinstance(args[1], tuple | list) else [args[1]]
    full = [slice(None)] * (len(shape) + 1 - sum(isinstance(key, slice | int) for key in keys))
    ellipsis = next((position for position, key in enumerate(keys) if key is Ellipsis), len(keys))
    keys[ellipsis : ellipsis + 1] = full
    is_basic = all(isinstance(key, slice | int | None) for key in keys)
    if not is_basic or keys[0] != slice(None):
        raise unsupported(f"a part {args[1]}", name, ("ranges of an item",))
    indices = [key for key in keys[1:] if key is not None]
    rows = [_row(key, size) for key, size in zip(indices, shape, strict=True)]
    part = _part(builder, value, rows, name)
    sizes = iter(map(len, rows))
    all_sizes = [(key, 1 if key is None else next(sizes)) for key in keys[1:]]
    item_shape = [size for key, size in all_sizes if not isinstance(key, int)]
    return [_match_shape(builder, part, item_shape, name)]


def _match_shape(builder: GraphBuilder, tensor: Tensor, shape: list[int], name: str) -> Tensor:
    if tuple(shape) == builder.shapes[tensor.value]:
        return tensor
    if not shape:
        raise unsupported("giving one number without an axis", name, ("a range",))
    return _add_reshape(builder, tensor.value, shape, f"{name}/shaped")


def _row(key: Any, size: int) -> range:
    return range(size)[slice(key % size, key % size + 1) if isinstance(key, int) else key]


def _part(builder: GraphBuilder, value: str, rows: Sequence[range], name: str) -> Tensor:
    op = ops.SliceOp(
        tuple(row.start for row in rows), tuple(map(len, rows)), tuple(row.step for row in rows)
    )
    return Tensor(builder.add(name, op, value), tuple(range(len(rows))))


def _slice_axis(builder: GraphBuilder, tensor: Tensor, axis: int, row: range, name: str) -> Tensor:
    """A slice along one axis."""
    value = builder.reorder(tensor)
    rows = [range(size) for size in builder.shapes[value]]
    rows[axis] = row
    return _part(builder, value, rows, name)


def _split(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    (axis,) = item_axes(operation.axis, len(args[0].order), name)
    size = builder.shapes[builder.reorder(args[0])][axis]
    parts = np.array_split(np.arange(size), operation.indices_or_sections)
    rows = [range(int(part[0]), int(part[-1]) + 1) for part in parts]
    return [_slice_axis(builder, args[0], axis, row, name) for row in rows]


def _unstack(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    (axis,) = item_axes(operation.axis, len(args[0].order), name)
    count = builder.shapes[builder.reorder(args[0])][axis]
    parts = [_slice_axis(builder, args[0], axis, range(n, n + 1), name) for n in range(count)]
    return [drop_axes(builder, part, [axis], f"{name}/fewer") for part in parts]


def _concatenate(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    tensors = _all_tensors(args[0], name)
    order = common_order(tensors)
    (axis,) = item_axes(operation.axis, len(order), name)
    values = [builder.reorder(tensor, order) for tensor in tensors]
    output = builder.add(name, ops.ConcatenateOp(order.index(axis)), *values)
    return [Tensor(output, order)]


def _stack(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    tensors = _all_tensors(args[0], name)
    (axis,) = item_axes(operation.axis, len(tensors[0].order) + 1, name)
    values = [builder.reorder(tensor) for tensor in tensors]
    shape = builder.shapes[values[0]]
    wide = (*shape[:axis], 1, *shape[axis:])
    parts = [_add_reshape(builder, value, wide, f"{name}/part").value for value in values]
    output = builder.add(name, ops.ConcatenateOp(axis), *parts)
    return [Tensor(output, tuple(range(len(wide))))]


def _all_tensors(args: Any, name: str) -> list[Tensor]:
    if not all(isinstance(arg, Tensor) for arg in args):
        raise unsupported("joining tensors with constants", name, ("tensors of the model",))
    return list(args)


def _take(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    """Constant rows of a tensor, or rows of a constant table by integers."""
    table, rows = args
    if isinstance(rows, Tensor):
        return [_embed_rows(builder, operation, table, rows, name)]
    (axis,) = item_axes(operation.axis, len(table.order), name)
    size = builder.shapes[builder.reorder(table)][axis]
    indices = np.asarray(keras.ops.convert_to_numpy(rows)).astype(np.int64)
    if indices.ndim > 1 or not indices.size or (abs(indices + 0.5) > size).any():
        raise unsupported("a take of rows out of range", name, ("a list of constant rows",))
    runs = _runs((indices.ravel() % size).tolist())
    if len(runs) > MAX_RUNS:
        raise unsupported(f"a take in {len(runs)} parts", name, (f"at most {MAX_RUNS}",))
    parts = [_slice_axis(builder, table, axis, run, name) for run in runs]
    if not indices.ndim:
        return [drop_axes(builder, parts[0], [axis], f"{name}/fewer")]
    if len(parts) == 1:
        return parts
    output = builder.add(name, ops.ConcatenateOp(axis), *(part.value for part in parts))
    return [Tensor(output, parts[0].order)]


def _embed_rows(
    builder: GraphBuilder, operation: Any, table: Arg, rows: Tensor, name: str
) -> Tensor:
    if isinstance(table, Tensor) or operation.axis != 0 or len(table.shape) != 2:
        raise unsupported("a take by computed numbers", name, ("rows of a constant table",))
    return embed(builder, numbers(table), rows, name)


def _runs(rows: list[int]) -> list[range]:
    """Group rows into ranges of a constant step."""
    runs: list[range] = []
    for row in rows:
        last = runs[-1] if runs else range(0)
        step = row - last[-1] if len(last) else 0
        if step > 0 and (len(last) == 1 or step == last.step):
            runs[-1] = range(last[0], row + 1, step)
        else:
            runs.append(range(row, row + 1))
    return runs


def _zeros(builder: GraphBuilder, operation: Any, args: list[Arg], name: str) -> list[Tensor]:
    """Zeros of an item's shape, a constant."""
    order = args[0].order
    shape = builder.shapes[builder.reorder(args[0])]
    return [Tensor(builder.add_constant(name, np.zeros(shape, np.float32), order), order)]


OPERATORS: dict[str, Operator] = {
    "Concatenate": _concatenate,
    "ExpandDims": _expand,
    "GetItem": _item,
    "Reshape": _reshape,
    "Split": _split,
    "Squeeze": _squeeze,
    "Stack": _stack,
    "Take": _take,
    "Transpose": _transpose,
    "Unstack": _unstack,
    "ZerosLike": _zeros,
}
