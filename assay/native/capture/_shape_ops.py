"""Operations of keras.ops that move numbers: slices, look-ups, other shapes, joined tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from assay.native import ops
from assay.native.capture import unsupported
from assay.native.capture._arguments import Given, Operator, numbers
from assay.native.capture._attention import looked_up
from assay.native.capture._layers import common_order
from assay.native.graph_builder import Building, Tensor

RUNS = 256  # evenly spaced rows that one look-up may be cut into


def item_axes(axis: Any, rank: int, name: str) -> list[int]:
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
    return _shaped(building, value, shape, name)


def _shaped(building: Building, value: str, shape: Sequence[int], name: str) -> Tensor:
    made = building.add(name, ops.ReshapeOp(tuple(shape)), value)
    return Tensor(made, tuple(range(len(shape))))


def _reshape(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    value = building.laid(given[0])
    _, *shape = operation.newshape
    known = math.prod(size for size in shape if size != -1)
    whole = math.prod(building.shapes[value])
    shape = [whole // known if size == -1 else size for size in shape]
    return [_shaped(building, value, shape, name)]


def _transpose(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    axes = operation.axes
    if axes is None or axes[0] != 0:
        raise unsupported(f"a transpose to {axes}", name, ("one that leaves the batch first",))
    dims = [axis - 1 for axis in axes[1:]]
    return [Tensor(given[0].value, tuple(dims.index(axis) for axis in given[0].order))]


def _expand(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    value = building.laid(given[0])
    shape = list(building.shapes[value])
    (axis,) = item_axes(operation.axis, len(shape) + 1, name)
    return [_shaped(building, value, (*shape[:axis], 1, *shape[axis:]), name)]


def _squeeze(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    axes = item_axes(operation.axis, len(given[0].order), name)
    return [without(building, given[0], axes, name)]


def _item(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    """`x[:, 1:, ::2]`, `x[:, None]`: ranges, whole numbers and new axes, and all of the batch."""
    value = building.laid(given[0])
    shape = building.shapes[value]
    keys = list(given[1]) if isinstance(given[1], tuple | list) else [given[1]]
    left = [slice(None)] * (len(shape) + 1 - sum(isinstance(key, slice | int) for key in keys))
    at = next((place for place, key in enumerate(keys) if key is Ellipsis), len(keys))
    keys[at : at + 1] = left
    plain = all(isinstance(key, slice | int | None) for key in keys)
    if not plain or keys[0] != slice(None):
        raise unsupported(f"a part {given[1]}", name, ("ranges of an item",))
    taken = [key for key in keys[1:] if key is not None]
    rows = [_row(key, size) for key, size in zip(taken, shape, strict=True)]
    made = _part(building, value, rows, name)
    sizes = iter(map(len, rows))
    all_sizes = [(key, 1 if key is None else next(sizes)) for key in keys[1:]]
    wanted = [size for key, size in all_sizes if not isinstance(key, int)]
    return [_reached(building, made, wanted, name)]


def _reached(building: Building, made: Tensor, shape: list[int], name: str) -> Tensor:
    if tuple(shape) == building.shapes[made.value]:
        return made
    if not shape:
        raise unsupported("giving one number without an axis", name, ("a range",))
    return _shaped(building, made.value, shape, f"{name}/shaped")


def _row(key: Any, size: int) -> range:
    return range(size)[slice(key % size, key % size + 1) if isinstance(key, int) else key]


def _part(building: Building, value: str, rows: Sequence[range], name: str) -> Tensor:
    op = ops.SliceOp(
        tuple(row.start for row in rows),
        tuple(map(len, rows)),
        tuple(row.step for row in rows),
    )
    return Tensor(building.add(name, op, value), tuple(range(len(rows))))


def _along(building: Building, tensor: Tensor, axis: int, row: range, name: str) -> Tensor:
    """The tensor's numbers at `row` of one axis."""
    value = building.laid(tensor)
    rows = [range(size) for size in building.shapes[value]]
    rows[axis] = row
    return _part(building, value, rows, name)


def _split(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    (axis,) = item_axes(operation.axis, len(given[0].order), name)
    size = building.shapes[building.laid(given[0])][axis]
    parts = np.array_split(np.arange(size), operation.indices_or_sections)
    rows = [range(int(part[0]), int(part[-1]) + 1) for part in parts]
    return [_along(building, given[0], axis, row, name) for row in rows]


def _unstack(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    (axis,) = item_axes(operation.axis, len(given[0].order), name)
    count = building.shapes[building.laid(given[0])][axis]
    parts = [_along(building, given[0], axis, range(n, n + 1), name) for n in range(count)]
    return [without(building, part, [axis], f"{name}/fewer") for part in parts]


def _concatenate(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    tensors = _all_tensors(given[0], name)
    order = common_order(tensors)
    (axis,) = item_axes(operation.axis, len(order), name)
    values = [building.laid(tensor, order) for tensor in tensors]
    made = building.add(name, ops.ConcatenateOp(order.index(axis)), *values)
    return [Tensor(made, order)]


def _stack(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    tensors = _all_tensors(given[0], name)
    (axis,) = item_axes(operation.axis, len(tensors[0].order) + 1, name)
    values = [building.laid(tensor) for tensor in tensors]
    shape = building.shapes[values[0]]
    wide = (*shape[:axis], 1, *shape[axis:])
    parts = [_shaped(building, value, wide, f"{name}/part").value for value in values]
    made = building.add(name, ops.ConcatenateOp(axis), *parts)
    return [Tensor(made, tuple(range(len(wide))))]


def _all_tensors(given: Any, name: str) -> list[Tensor]:
    if not all(isinstance(each, Tensor) for each in given):
        raise unsupported("joining tensors with known numbers", name, ("tensors of the model",))
    return list(given)


def _take(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    """Known rows of a tensor, or rows of a known table by whole numbers."""
    table, rows = given
    if isinstance(rows, Tensor):
        return [_rows_of(building, operation, table, rows, name)]
    (axis,) = item_axes(operation.axis, len(table.order), name)
    size = building.shapes[building.laid(table)][axis]
    wanted = np.asarray(keras.ops.convert_to_numpy(rows)).astype(np.int64)
    if wanted.ndim > 1 or not wanted.size or (abs(wanted + 0.5) > size).any():
        raise unsupported("a take of rows that are not there", name, ("a list of known rows",))
    runs = _runs((wanted.ravel() % size).tolist())
    if len(runs) > RUNS:
        raise unsupported(f"a take in {len(runs)} parts", name, (f"at most {RUNS}",))
    parts = [_along(building, table, axis, run, name) for run in runs]
    if not wanted.ndim:
        return [without(building, parts[0], [axis], f"{name}/fewer")]
    if len(parts) == 1:
        return parts
    made = building.add(name, ops.ConcatenateOp(axis), *(part.value for part in parts))
    return [Tensor(made, parts[0].order)]


def _rows_of(building: Building, operation: Any, table: Given, rows: Tensor, name: str) -> Tensor:
    if isinstance(table, Tensor) or operation.axis != 0 or len(table.shape) != 2:
        raise unsupported("a take by computed numbers", name, ("rows of a known table",))
    return looked_up(building, numbers(table), rows, name)


def _runs(rows: list[int]) -> list[range]:
    """The same rows as few ranges of rising numbers, evenly apart."""
    found: list[range] = []
    for row in rows:
        last = found[-1] if found else range(0)
        step = row - last[-1] if len(last) else 0
        if step > 0 and (len(last) == 1 or step == last.step):
            found[-1] = range(last[0], row + 1, step)
        else:
            found.append(range(row, row + 1))
    return found


def _zeros(building: Building, operation: Any, given: list[Given], name: str) -> list[Tensor]:
    """Of an item's shape: known, and the same for every item."""
    order = given[0].order
    shape = building.shapes[building.laid(given[0])]
    return [Tensor(building.fixed(name, np.zeros(shape, np.float32), order), order)]


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
