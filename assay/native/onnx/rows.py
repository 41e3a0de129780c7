"""Rows of a value along any axis, by known positions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from assay.native import ops
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import Importing


def slice_value(model: Importing, node: OnnxOp, value: str, rows: Sequence[range]) -> str:
    """The positions of each axis, which are evenly spaced."""
    op = ops.SliceOp(
        tuple(row.start for row in rows),
        tuple(len(row) for row in rows),
        tuple(row.step for row in rows),
    )
    return model.add(node, op, value)


def take_rows(
    model: Importing, node: OnnxOp, value: str, axis: int, positions: Sequence[int]
) -> str:
    """A slice where the positions are evenly spaced, else a gather."""
    shape = model.shape(value)
    step = positions[1] - positions[0] if len(positions) > 1 else 1
    spaced = range(positions[0], positions[0] + step * len(positions), step) if step else ()
    if list(spaced) == list(positions):
        rows = [range(size) for size in shape]
        rows[axis] = range(positions[0], positions[0] + step * len(positions), step)
        return slice_value(model, node, value, rows)
    order = (axis, *(each for each in range(len(shape)) if each != axis))
    rest = tuple(shape[each] for each in order[1:])
    value = transpose_value(model, node, value, order)
    value = model.add(node, ops.ReshapeOp((shape[axis], math.prod(rest))), value)
    indices = model.as_constant(node, np.array(positions), 1)
    value = model.add(node, ops.GatherOp(), value, indices)
    value = model.add(node, ops.ReshapeOp((len(positions), *rest)), value)
    return transpose_value(
        model, node, value, tuple(order.index(each) for each in range(len(shape)))
    )


def transpose_value(model: Importing, node: OnnxOp, value: str, order: tuple[int, ...]) -> str:
    same = order == tuple(range(len(order)))
    return value if same else model.add(node, ops.TransposeOp(order), value)
