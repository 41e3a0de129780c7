"""Reshapes, whose batch may be joined with other axes: tokens or windows of all items in one row.

torch's exporters write `x.view(-1, size)` around products, and windows of an image as more items.
Such a value is (batch * k, …) in the file and (k, …) for an item here.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from assay.native import ops
from assay.native.graph import Shape
from assay.native.onnx.constant_folding import BATCH
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import FIRST, BatchPlace, Importing, refusal


def reshape(model: Importing, node: OnnxOp, target: list[int]) -> str:
    """Item by item, or with an axis that joins the batch with those after it."""
    name = node.inputs[0]
    value = model.values[name]
    if not model.batched:
        return _reshape_fixed(model, node, target)
    whole, before = model.shape(value), model.places.get(name, FIRST).axis
    sizes = _sizes(node, target, file_shape(model, name))
    first, *shape = sizes[before:] or [0]
    total, known = math.prod(whole[before:]), math.prod(size for size in shape if size != -1)
    each = _items(model, first) or (total // known if known else 0)
    if -1 in shape and known:
        shape = [total // (each * known) if size == -1 else size for size in shape]
    new_shape = (*whole[:before], *((each,) if each > 1 else ()), *shape)
    unchanged = tuple(sizes[:before]) == whole[:before]
    if not unchanged or each < 1 or each * math.prod(shape) != total or not new_shape:
        raise refusal(node, f"it makes {tuple(target)} of a batch of {whole}, not item by item")
    if before or each > 1:
        model.places[node.outputs[0]] = BatchPlace(before, each > 1)
    return model.add(node, ops.ReshapeOp(new_shape), value)


def _reshape_fixed(model: Importing, node: OnnxOp, sizes: list[int]) -> str:
    value = model.values[node.inputs[0]]
    whole = model.shape(value)
    sizes = _sizes(node, sizes, whole)
    rest = math.prod(size for size in sizes if size != -1)
    fill = math.prod(whole) // rest if rest else 0
    return model.item(node, value, tuple(fill if size == -1 else size for size in sizes))


def in_order(model: Importing, node: OnnxOp) -> OnnxOp:
    """The node, or a Reshape for a Gather of all rows in their order: torch's `as_strided`."""
    table, rows = (*node.inputs, "", "")[:2]
    if node.kind != "Gather" or node.attributes.get("axis", 0) or rows not in model.known:
        return node
    if model.places.get(table) != BatchPlace(0, True):
        return node
    kept, *rest = model.shape(model.values[table])
    wanted = model.known[rows]
    if not np.array_equal(wanted.ravel(), np.arange(model.batch * kept)):
        return node
    shape = f"{node.outputs[0]}\0shape"  # a name that no file has
    model.known[shape] = np.array([*wanted.shape, *rest], np.int64)
    return msgspec.structs.replace(node, kind="Reshape", inputs=(table, shape), attributes={})


def file_shape(model: Importing, name: str) -> Shape:
    """Of a value as the file has it, with BATCH for how many items there are."""
    if not model.batched:
        return model.shape(model.values[name])
    shape, place = model.shape(model.values[name]), model.places.get(name, FIRST)
    before, after = shape[: place.axis], shape[place.axis :]
    if place.joined:
        return (*before, BATCH * after[0], *after[1:])
    return (*before, BATCH, *after)


def _sizes(node: OnnxOp, target: list[int], whole: Shape) -> list[int]:
    """A 0 keeps the axis that the file has there."""
    keeps = not node.attributes.get("allowzero", 0)
    return [
        whole[at] if size == 0 and keeps and at < len(whole) else size
        for at, size in enumerate(target)
    ]


def _items(model: Importing, first: int) -> int:
    """How many rows of the axis belong to one item; 0: not told."""
    for batch in (BATCH, model.batch):
        if first > 0 and batch and first % batch == 0:
            return first // batch
    return 0 if first == -1 else -1
