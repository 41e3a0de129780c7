"""Nodes on values whose batch is not the first axis by itself, read as if it were.

A Reshape joins the batch with other axes (`joined.py`). A Transpose puts it elsewhere: torch takes
queries, keys and values apart by `qkv.permute(2, 0, 3, 1, 4)`, and some attention has the batch as
its second axis. What a node does along the other axes it does to each item alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import FIRST, BatchPlace, Importing, refusal

# Operators whose axes are told by the attribute `axis` or `axes`, or by no number at all.
_BY_AXIS = {"Softmax", "LogSoftmax", "LayerNormalization", "Concat", "Split", "Gather"}
_BY_AXES = {"Unsqueeze": 1, "Squeeze": 1, "Slice": 3}  # which input has them, where one has
_BY_AXES |= {f"Reduce{name}": 1 for name in ("Mean", "Sum", "Max", "Min", "L2", "SumSquare")}
_SAME = "Identity Dropout Cast Relu LeakyRelu Elu Selu Gelu HardSigmoid Clip Tanh Sigmoid Softplus "
_SAME += "Softsign HardSwish Mish Exp Log Sqrt Abs Neg Reciprocal Erf Sin Cos Add Sum Mean Sub Mul "
_SAME += "Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Floor Ceil Round Sign "
_SAME += (
    "Div Max Min Pow Where Gemm MatMul Equal Less LessOrEqual Greater GreaterOrEqual Not And Or"
)
_USUAL_AXIS = {"Split": 0, "Gather": 0}  # of the others it is the last
_KNOWN = _BY_AXIS | set(_BY_AXES) | set(_SAME.split())


def batch_first(model: Importing, node: OnnxOp) -> tuple[OnnxOp, BatchPlace]:
    """The node as it would be for (batch, …), and where the file has the batch of its outputs."""
    computed = [name for name in node.inputs if name in model.values]
    place, *others = {model.places.get(name, FIRST) for name in computed}
    if node.kind == "Transpose":
        return _transpose(node, place, _rank(model, computed[0], place))
    if not others and place == FIRST and node.kind != "Unsqueeze":
        return node, FIRST
    if node.kind not in _KNOWN:
        raise refusal(node, "the batch of its input is not the first axis by itself")
    if others or not _alike(model, computed, place):
        raise refusal(node, "its inputs have their batches in different places")
    return _elsewhere(model, node, place)


def _elsewhere(model: Importing, node: OnnxOp, place: BatchPlace) -> tuple[OnnxOp, BatchPlace]:
    if node.kind == "Gather" and node.inputs[0] in model.known:
        return node, place  # rows of a table: an axis more at the end
    if node.kind in _BY_AXIS:
        return _along_axis(model, node, place)
    if node.kind in _BY_AXES:
        return _along_axes(model, node, place)
    if node.kind in ("MatMul", "Gemm"):
        _refuse_products_of_batches(model, node, place)
    return _with_known(model, node, place), place


def _rank(model: Importing, name: str, place: BatchPlace) -> int:
    """How many axes the file counts."""
    return len(model.shape(model.values[name])) + (not place.joined)


def _alike(model: Importing, names: Sequence[str], place: BatchPlace) -> bool:
    """As many axes, and as much that is joined with the batch."""
    shapes = [model.shape(model.values[name]) for name in names]
    joined = {shape[place.axis] for shape in shapes} if place.joined else {0}
    return len(joined) == 1 and len({len(shape) for shape in shapes}) == 1


def _further(node: OnnxOp, place: BatchPlace, axis: int) -> int:
    """Counted with the batch as the first axis."""
    if axis == place.axis:
        raise refusal(node, f"axis {axis} is the batch")
    return axis + 1 if place.joined or axis < place.axis else axis


def _transpose(node: OnnxOp, place: BatchPlace, rank: int) -> tuple[OnnxOp, BatchPlace]:
    order = tuple(node.attributes.get("perm") or range(rank - 1, -1, -1))
    new = msgspec.structs.replace(place, axis=order.index(place.axis))
    if place.joined:  # what is joined with the batch goes with it
        items = [axis + 1 for axis in order]
    else:
        items = [_further(node, place, axis) for axis in order if axis != place.axis]
    return _replace_attributes(node, perm=(0, *items)), new


def _along_axis(model: Importing, node: OnnxOp, place: BatchPlace) -> tuple[OnnxOp, BatchPlace]:
    rank = _rank(model, next(name for name in node.inputs if name in model.values), place)
    old = "Softmax" in node.kind and node.opset < 13
    axis = node.attributes.get("axis", 1 if old else _USUAL_AXIS.get(node.kind, -1)) % rank
    if (old or node.kind == "LayerNormalization") and place.axis > axis:
        raise refusal(node, f"the batch is among the axes from {axis} on")
    changed = _replace_attributes(node, axis=_further(node, place, axis))
    if node.kind == "Concat":
        return _with_known(model, changed, place), place
    rows = model.known.get(node.inputs[1]) if node.kind == "Gather" else None
    gone = [axis] if rows is not None and rows.ndim == 0 else []
    return changed, _without(place, gone)


def _along_axes(model: Importing, node: OnnxOp, place: BatchPlace) -> tuple[OnnxOp, BatchPlace]:
    """The axes of a node are an attribute of older files and an input of newer ones."""
    which, inputs = _BY_AXES[node.kind], list(node.inputs)
    axes_value = (
        model.known.get(inputs[which]) if which < len(inputs) else node.attributes.get("axes")
    )
    if axes_value is None:
        raise refusal(node, "its axes are not known, and the batch may be one of them")
    rank = _rank(model, inputs[0], place)
    new = place
    if node.kind == "Unsqueeze":
        rank += np.size(axes_value)
        fresh = [int(axis) % rank for axis in np.ravel(axes_value)]
        left = [axis for axis in range(rank) if axis not in fresh]
        place = new = msgspec.structs.replace(place, axis=left[place.axis])
    axes = [int(axis) % rank for axis in np.ravel(axes_value)]
    further = tuple(_further(node, place, axis) for axis in axes)
    if node.kind == "Squeeze" or ("Reduce" in node.kind and not node.attributes.get("keepdims", 1)):
        new = _without(place, axes)
    if which >= len(inputs):
        return _replace_attributes(node, axes=further), new
    inputs[which] = f"{node.outputs[0]}\0axes"  # a name that no file has
    model.known[inputs[which]] = np.array(further, np.int64)
    return msgspec.structs.replace(node, inputs=tuple(inputs)), new


def _without(place: BatchPlace, gone: Sequence[int]) -> BatchPlace:
    """After these axes are no more."""
    before = sum(axis < place.axis for axis in gone)
    return msgspec.structs.replace(place, axis=place.axis - before)


def _refuse_products_of_batches(model: Importing, node: OnnxOp, place: BatchPlace) -> None:
    """A matrix may have the batch as its rows only where the other is known."""
    first, second, *_ = node.inputs
    value = first if first in model.values else second
    rows = second in model.known and model.known[second].ndim == 2
    if place.axis >= _rank(model, value, place) - (1 if rows else 2):
        raise refusal(node, f"axis {place.axis} of its matrices is the batch")


def _with_known(model: Importing, node: OnnxOp, place: BatchPlace) -> OnnxOp:
    """Known inputs as they are for (batch, …) too."""
    value = next(name for name in node.inputs if name in model.values)
    rank = _rank(model, value, place)
    inputs = list(node.inputs)
    for at, name in enumerate(node.inputs):
        constant = model.known.get(name)
        matrix = node.kind in ("MatMul", "Gemm") and constant is not None and constant.ndim < 3
        if constant is None or matrix or constant.size == 1:
            continue
        if constant.ndim > rank:
            raise refusal(node, f"numbers of {constant.shape} for {rank} axes")
        inputs[at] = f"{name}\0{node.outputs[0]}"  # a name that no file has
        wide = constant.reshape((1,) * (rank - constant.ndim) + constant.shape)
        model.known[inputs[at]] = _known_first(model, node, place, value, wide)
    return msgspec.structs.replace(node, inputs=tuple(inputs))


def _known_first(
    model: Importing, node: OnnxOp, place: BatchPlace, value: str, constant: Any
) -> Any:
    """Numbers for each row of a joined axis become numbers for each row of an item."""
    count = constant.shape[place.axis]
    if not place.joined:
        return np.moveaxis(constant, place.axis, 0)
    if count == 1:
        return constant
    rows = model.shape(model.values[value])[place.axis]
    if count != model.batch * rows:
        raise refusal(
            node, f"numbers of {constant.shape} for what joins the batch with {rows} others"
        )
    sizes = (*constant.shape[: place.axis], -1, rows, *constant.shape[place.axis + 1 :])
    return np.moveaxis(constant.reshape(sizes), place.axis, 0)


def _replace_attributes(node: OnnxOp, **attributes: int | tuple[int, ...]) -> OnnxOp:
    return msgspec.structs.replace(node, attributes={**node.attributes, **attributes})
