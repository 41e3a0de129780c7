"""Pooling and reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.native import ops
from assay.native.operations.definition import (
    Array,
    Constants,
    Definition,
    Shape,
    emit_option,
    expect,
    expect_image,
    expect_inputs,
    pad_borders,
    sizes,
    window_positions,
)

if TYPE_CHECKING:
    from assay.native.emit import Emitter
    from assay.native.graph import Node
    from assay.native.onnx.writer import Writer


def pool_shape(op: ops.PoolOp, shape: Shape) -> Shape:
    channels, height, width = expect_image(shape)
    # A window wholly in the padding has no maximum and no mean.
    fits = all(pad < op.window[index % 2] for index, pad in enumerate(op.pads))
    expect(fits, f"a window of {op.window} with padding {op.pads}")
    return (channels, *window_positions((height, width), op.window, op.strides, op.pads))


def apply_pool(op: ops.PoolOp, values: Array) -> Array:
    """Maximum or mean of each window, without padding."""
    fill = -np.inf if op.kind == "max" else 0
    windows = _windows(pad_borders(values, op.pads, fill), op)
    if op.kind == "max":
        largest: Array = windows.max((-2, -1))
        return largest
    inside = _windows(pad_borders(np.ones_like(values[:1, :1]), op.pads, 0), op)
    mean: Array = windows.sum((-2, -1)) / inside.sum((-2, -1))
    return mean


def _windows(values: Array, op: ops.PoolOp) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(values, op.window, (2, 3))
    return windows[:, :, :: op.strides[0], :: op.strides[1]]


def _pool_shape(op: ops.PoolOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    return pool_shape(op, shapes[0])


def _pool(op: ops.PoolOp, inputs: Sequence[Array], constants: Constants) -> Array:
    return apply_pool(op, inputs[0])


def _emit_pool(op: ops.PoolOp, emitter: Emitter, node: Node) -> str:
    shapes = f"{sizes(node.shape)}, {sizes(op.window)}"
    call = f"net.{op.kind}_pool({emitter.read(node)}, {shapes})"
    call += emit_option(op.strides, op.window, "strides") + emit_option(op.pads, (0,) * 4, "pads")
    return call + emitter.posts(node, op.post)


def _onnx_pool(op: ops.PoolOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    kind = "MaxPool" if op.kind == "max" else "AveragePool"
    attributes = {"kernel_shape": op.window, "strides": op.strides, "pads": op.pads}
    writer.add(kind, node.inputs[0], output=node.output, **attributes)


def _global_shape(op: ops.GlobalPoolOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    return expect_image(shapes[0])[:1]


def _global(op: ops.GlobalPoolOp, inputs: Sequence[Array], constants: Constants) -> Array:
    result: Array = inputs[0].max((2, 3)) if op.kind == "max" else inputs[0].mean((2, 3))
    return result


def _emit_global(op: ops.GlobalPoolOp, emitter: Emitter, node: Node) -> str:
    shape = emitter.shape(node)
    whole = f"{emitter.read(node)}, {sizes((shape[0], 1, 1))}, {sizes(shape[1:])}"
    return f"net.reshape(net.{op.kind}_pool({whole}), {sizes(node.shape)})"


def _onnx_global(op: ops.GlobalPoolOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    kind = "GlobalMaxPool" if op.kind == "max" else "GlobalAveragePool"
    pool = writer.add(kind, node.inputs[0], output=writer.unused_name(f"{node.output}/kept"))
    writer.add("Flatten", pool, output=node.output, axis=1)


def _reduce_shape(op: ops.ReduceOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    valid = all(0 <= axis < len(shapes[0]) for axis in op.axes)
    expect(bool(op.axes) and valid, f"the axes {op.axes} of {shapes[0]}")
    return tuple(1 if axis in op.axes else size for axis, size in enumerate(shapes[0]))


def _reduce(op: ops.ReduceOp, inputs: Sequence[Array], constants: Constants) -> Array:
    axes = tuple(axis + 1 for axis in op.axes)
    result: Array = getattr(np, op.kind)(inputs[0], axes, keepdims=True)
    return result


def _emit_reduce(op: ops.ReduceOp, emitter: Emitter, node: Node) -> str:
    return f"net.reduce(Kind::reduce_{op.kind}, {emitter.read(node)}, {sizes(node.shape)})"


_REDUCE = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin"}


def _onnx_reduce(op: ops.ReduceOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    writer.reduce(_REDUCE[op.kind], node.inputs[0], op.axes, node.output)


TABLE: dict[type, Definition] = {
    ops.PoolOp: Definition(shape=_pool_shape, compute=_pool, emit=_emit_pool, onnx=_onnx_pool),
    ops.GlobalPoolOp: Definition(
        shape=_global_shape, compute=_global, emit=_emit_global, onnx=_onnx_global
    ),
    ops.ReduceOp: Definition(
        shape=_reduce_shape, compute=_reduce, emit=_emit_reduce, onnx=_onnx_reduce
    ),
}
