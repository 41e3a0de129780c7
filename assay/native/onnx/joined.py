"""Values whose first axis joins the batch with others: tokens or windows of all items in one row.

torch's exporters write `x.view(-1, size)` around products, and windows of a picture as more items.
Such a value is (batch * k, …) in the file and (k, …) for an item here. What a node does along its
other axes it does to each item alone, so it is read as if the file had (batch, k, …).
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from assay.native import ops
from assay.native.graph import Shape
from assay.native.onnx.folding import BATCH
from assay.native.onnx.importing import Importing, refused
from assay.native.onnx.model import OnnxOp

# Operators whose axes are told by the attribute `axis` or `axes`, or by no number at all.
_BY_AXIS = {"Softmax", "LogSoftmax", "LayerNormalization", "Concat", "Split", "Gather"}
_BY_AXES = {"Unsqueeze": 1, "Squeeze": 1, "Slice": 3}  # which input has them, where one has
_BY_AXES |= {f"Reduce{name}": 1 for name in ("Mean", "Sum", "Max", "Min", "L2", "SumSquare")}
_SAME = "Identity Dropout Cast Relu LeakyRelu Elu Selu Gelu HardSigmoid Clip Tanh Sigmoid Softplus "
_SAME += "Softsign HardSwish Mish Exp Log Sqrt Abs Neg Reciprocal Erf Sin Cos Add Sum Mean Sub Mul "
_SAME += (
    "Div Max Min Pow Where Gemm MatMul Equal Less LessOrEqual Greater GreaterOrEqual Not And Or"
)
_USUAL_AXIS = {"Split": 0, "Gather": 0}  # of the others it is the last


def reshaped(model: Importing, node: OnnxOp, told: list[int]) -> str:
    """A Reshape: item by item, or with a first axis that joins the batch with others."""
    name = node.inputs[0]
    value = model.values[name]
    whole = model.shape(value)
    sizes = _sizes(node, told, file_shape(model, name))
    first, *shape = sizes or [0]
    total, known = math.prod(whole), math.prod(size for size in shape if size != -1)
    each = _items(model, first) or (total // known if known else 0)
    if -1 in shape and known:
        shape = [total // (each * known) if size == -1 else size for size in shape]
    if each < 1 or each * math.prod(shape) != total or (each == 1 and not shape):
        raise refused(node, f"it makes {tuple(told)} of a batch of {whole}, not item by item")
    if each > 1:
        model.joined.add(node.outputs[0])
    made = tuple(shape) if each == 1 else (each, *shape)
    return model.add(node, ops.ReshapeOp(made), value)


def file_shape(model: Importing, name: str) -> Shape:
    """Of a value as the file has it, with BATCH for how many items there are."""
    shape = model.shape(model.values[name])
    return (BATCH * shape[0], *shape[1:]) if name in model.joined else (BATCH, *shape)


def unjoined(model: Importing, node: OnnxOp) -> OnnxOp:
    """The node as it would be for (batch, k, …): axes that are not counted from the end move on."""
    computed = [name for name in node.inputs if name in model.values]
    sizes = {model.shape(model.values[name])[0] for name in computed}
    known = node.kind in _BY_AXIS or node.kind in _BY_AXES or node.kind in _SAME.split()
    if not known and node.kind != "Transpose":
        raise refused(node, "its input joins the batch with another axis")
    if not all(name in model.joined for name in computed) or len(sizes) > 1:
        raise refused(node, "one of its inputs joins the batch with another axis, and one does not")
    attributes: dict[str, Any] = dict(node.attributes)
    inputs = list(node.inputs)
    if node.kind in _BY_AXIS:
        attributes["axis"] = _further(node, attributes.get("axis", _USUAL_AXIS.get(node.kind, -1)))
    elif node.kind == "Transpose":
        rank = len(model.shape(model.values[computed[0]]))
        order = attributes.get("perm") or tuple(range(rank - 1, -1, -1))
        if order[0] != 0:
            raise refused(node, f"the order {tuple(order)} moves the batch")
        attributes["perm"] = (0, 1, *(axis + 1 for axis in order[1:]))
    elif node.kind in _BY_AXES:
        _axes_further(model, node, attributes, inputs)
    else:
        inputs = [_wider(model, node, name) for name in inputs]
    return msgspec.structs.replace(node, attributes=attributes, inputs=tuple(inputs))


def _sizes(node: OnnxOp, told: list[int], whole: Shape) -> list[int]:
    """A 0 keeps the axis that the file has there."""
    keeps = not node.attributes.get("allowzero", 0)
    return [
        whole[at] if size == 0 and keeps and at < len(whole) else size
        for at, size in enumerate(told)
    ]


def _items(model: Importing, first: int) -> int:
    """How many rows of the first axis belong to one item; 0: not told."""
    for batch in (BATCH, model.batch):
        if first > 0 and batch and first % batch == 0:
            return first // batch
    return 0 if first == -1 else -1


def _further(node: OnnxOp, axis: int) -> int:
    if axis == 0:
        raise refused(node, "axis 0 is the batch")
    return axis + 1 if axis > 0 else axis


def _axes_further(
    model: Importing, node: OnnxOp, attributes: dict[str, Any], inputs: list[str]
) -> None:
    """In place: the axes of a node are an attribute of older files and an input of newer ones."""
    which = _BY_AXES[node.kind]
    if "axes" in attributes:
        attributes["axes"] = tuple(_further(node, axis) for axis in attributes["axes"])
    elif which < len(inputs) and inputs[which] in model.known:
        axes = [_further(node, int(axis)) for axis in np.ravel(model.known[inputs[which]])]
        inputs[which] = f"{node.outputs[0]}\0axes"  # a name that no file has
        model.known[inputs[which]] = np.array(axes, np.int64)
    else:
        raise refused(node, "its axes are not told, and the batch may be one")


def _wider(model: Importing, node: OnnxOp, name: str) -> str:
    """Known numbers for each row of the file's first axis, as numbers for each row of an item."""
    held = model.known.get(name)
    rows, *rest = next(model.shape(model.values[n]) for n in node.inputs if n in model.values)
    matrix = node.kind in ("MatMul", "Gemm") and held is not None and held.ndim < 3
    if held is None or matrix or held.ndim != 1 + len(rest) or len(held) != model.batch * rows:
        return name
    wide = f"{name}\0{rows}"
    model.known[wide] = held.reshape(-1, rows, *held.shape[1:])
    return wide
