"""Layers over a batch in a file that has none: the rows of the first axis, one by one."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from assay.native import ops
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import Importing, refusal
from assay.native.onnx.rows import slice_value

# Operators whose first axis is a batch by definition.
BY_ITEM = {"Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"}
BY_ITEM |= {"BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN"}
BY_ITEM |= {"DepthToSpace", "SpaceToDepth"}


def by_item(model: Importing, node: OnnxOp, handler: Callable[[Importing, OnnxOp], str]) -> str:
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    if len(shape) < 2:
        raise refusal(node, f"its input is of shape {shape}, without a batch and channels")
    results = []
    model.batched = True
    try:
        for number in range(shape[0]):
            rows = [range(number, number + 1), *(range(size) for size in shape[1:])]
            item = slice_value(model, node, value, rows) if shape[0] > 1 else value
            name = f"{node.inputs[0]}\0{number}"  # a name that no file has
            model.values[name] = model.add(node, ops.ReshapeOp(shape[1:]), item)
            each = msgspec.structs.replace(node, inputs=(name, *node.inputs[1:]))
            result = handler(model, each)
            wide = (1, *model.shape(result))
            results.append(model.add(node, ops.ReshapeOp(wide), result))
    finally:
        model.batched = False
    return model.add(node, ops.ConcatenateOp(0), *results) if len(results) > 1 else results[0]
