"""Data-movement ops (reshape, transpose, slice, concatenate) and constants."""

from __future__ import annotations

import math
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
    same_shape,
    sizes,
)

if TYPE_CHECKING:
    from assay.native.emit import Emitter
    from assay.native.graph import Node
    from assay.native.onnx.writer import Writer


def _concatenate_shape(
    op: ops.ConcatenateOp, shapes: Sequence[Shape], constants: Constants
) -> Shape:
    axis, first = op.axis, shapes[0]
    expect(0 <= axis < len(first), f"there is no axis {axis} in {first}")
    rest = {(shape[:axis], shape[axis + 1 :]) for shape in shapes}
    expect(len(rest) == 1, f"{', '.join(map(str, shapes))} differ beyond axis {axis}")
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


def _concatenate(op: ops.ConcatenateOp, inputs: Sequence[Array], constants: Constants) -> Array:
    return np.concatenate(inputs, op.axis + 1)


def _emit_concatenate(op: ops.ConcatenateOp, emitter: Emitter, node: Node) -> str:
    inputs = ", ".join(emitter.read(node, which) for which in range(len(node.inputs)))
    return f"net.concatenate({{{inputs}}}, {sizes(node.shape)}, {op.axis})"


def _onnx_concatenate(
    op: ops.ConcatenateOp, writer: Writer, node: Node, shapes: Sequence[Shape]
) -> None:
    writer.add("Concat", *node.inputs, output=node.output, axis=op.axis + 1)


def _reshape_shape(op: ops.ReshapeOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    expect(math.prod(op.shape) == math.prod(shapes[0]), f"{shapes[0]} is not {op.shape}")
    return op.shape


def _reshape(op: ops.ReshapeOp, inputs: Sequence[Array], constants: Constants) -> Array:
    return inputs[0].reshape(len(inputs[0]), *op.shape)


def _emit_reshape(op: ops.ReshapeOp, emitter: Emitter, node: Node) -> str:
    return f"net.reshape({emitter.read(node)}, {sizes(node.shape)})"


def _onnx_reshape(op: ops.ReshapeOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    # 0 keeps the batch
    shape = writer.constant(f"{node.output}/shape", np.array((0, *op.shape), np.int64))
    writer.add("Reshape", node.inputs[0], shape, output=node.output)


def _transpose_shape(op: ops.TransposeOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    is_permutation = sorted(op.order) == list(range(len(shapes[0])))
    expect(is_permutation, f"the order {op.order} for an input of {shapes[0]}")
    return tuple(shapes[0][axis] for axis in op.order)


def _transpose(op: ops.TransposeOp, inputs: Sequence[Array], constants: Constants) -> Array:
    return inputs[0].transpose(0, *(axis + 1 for axis in op.order))


def _emit_transpose(op: ops.TransposeOp, emitter: Emitter, node: Node) -> str:
    return f"net.transpose({emitter.read(node)}, {sizes(node.shape)}, {sizes(op.order)})"


def _onnx_transpose(
    op: ops.TransposeOp, writer: Writer, node: Node, shapes: Sequence[Shape]
) -> None:
    order = (0, *(axis + 1 for axis in op.order))
    writer.add("Transpose", node.inputs[0], output=node.output, perm=order)


def _pad_shape(op: ops.PadOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    channels, height, width = expect_image(shapes[0])
    top, left, bottom, right = op.pads
    return (channels, height + top + bottom, width + left + right)


def _pad(op: ops.PadOp, inputs: Sequence[Array], constants: Constants) -> Array:
    return pad_borders(inputs[0], op.pads, 0)


def _emit_pad(op: ops.PadOp, emitter: Emitter, node: Node) -> str:
    pads = emit_option(op.pads, (0,) * 4, "pads")
    return f"net.pad({emitter.read(node)}, {sizes(node.shape)})" + pads


def _onnx_pad(op: ops.PadOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    """With explicit axes: otherwise ONNX Runtime (also 1.31) fuses it into a max pool after it,
    which pads with minus infinity, not with zeros. All four axes: where it moves a transpose
    behind a pad, it reads the pads as those of every axis."""
    top, left, bottom, right = op.pads
    all_pads = np.array((0, 0, top, left, 0, 0, bottom, right), np.int64)
    pads = writer.constant(f"{node.output}/pads", all_pads)
    axes = writer.constant(f"{node.output}/axes", np.arange(4, dtype=np.int64))
    writer.add("Pad", node.inputs[0], pads, "", axes, output=node.output)


def _upsample_shape(op: ops.UpsampleOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    channels, height, width = expect_image(shapes[0])
    return (channels, height * op.scale[0], width * op.scale[1])


def _upsample(op: ops.UpsampleOp, inputs: Sequence[Array], constants: Constants) -> Array:
    return inputs[0].repeat(op.scale[0], 2).repeat(op.scale[1], 3)


def _emit_upsample(op: ops.UpsampleOp, emitter: Emitter, node: Node) -> str:
    return f"net.upsample({emitter.read(node)}, {sizes(node.shape)}, {sizes(op.scale)})"


def _onnx_upsample(op: ops.UpsampleOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    scales = writer.constant(f"{node.output}/scales", np.array((1, 1, *op.scale), np.float32))
    attributes = {"mode": "nearest", "nearest_mode": "floor"}
    attributes |= {"coordinate_transformation_mode": "asymmetric"}
    writer.add("Resize", node.inputs[0], "", scales, output=node.output, **attributes)


def _slice_shape(op: ops.SliceOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    rows = list(zip(op.starts, op.sizes, op.steps, strict=True))
    ends = [start + (size - 1) * step for start, size, step in rows]
    fits = len(rows) == len(shapes[0]) and all(
        size > 0 and 0 <= start < whole and 0 <= end < whole
        for (start, size, _), end, whole in zip(rows, ends, shapes[0], strict=True)
    )
    expect(fits, f"{op.sizes} numbers from {op.starts} on, every {op.steps}, of {shapes[0]}")
    return op.sizes


def _slice(op: ops.SliceOp, inputs: Sequence[Array], constants: Constants) -> Array:
    rows = [
        start + np.arange(size) * step
        for start, size, step in zip(op.starts, op.sizes, op.steps, strict=True)
    ]
    return inputs[0][np.ix_(np.arange(len(inputs[0])), *rows)]


def _emit_slice(op: ops.SliceOp, emitter: Emitter, node: Node) -> str:
    arguments = f"{sizes(op.starts)}, {sizes(op.steps)}"
    return f"net.slice({emitter.read(node)}, {sizes(op.sizes)}, {arguments})"


def _onnx_slice(op: ops.SliceOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    rows = list(zip(op.starts, op.sizes, op.steps, strict=True))
    ends = [start + size * step for start, size, step in rows]
    # with a negative step the end may be -1, which ONNX would count from the back
    ends = [end if end >= 0 else -(2**31) for end in ends]
    parts = {"starts": op.starts, "ends": ends, "axes": range(1, len(rows) + 1), "steps": op.steps}
    inputs = [
        writer.constant(f"{node.output}/{part}", np.array(tuple(numbers), np.int64))
        for part, numbers in parts.items()
    ]
    writer.add("Slice", node.inputs[0], *inputs, output=node.output)


def _constant_shape(op: ops.ConstantOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes, 0)
    shape: Shape = constants[op.weight].shape
    return shape


def _constant(op: ops.ConstantOp, inputs: Sequence[Array], constants: Constants) -> Array:
    return constants[op.weight][None]  # a batch of one


def _emit_constant(op: ops.ConstantOp, emitter: Emitter, node: Node) -> str:
    return f"net.constant({sizes(node.shape)}, {emitter.constant(op.weight)})"


def _onnx_constant(op: ops.ConstantOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    """A batch of one, broadcast to any other; expanded where an op needs the full batch."""
    constant = writer.constant(f"{op.weight}/one", writer.constants[op.weight][None])
    if node.output not in writer.repeated:
        writer.add("Identity", constant, output=node.output)
        return
    name = writer.unused_name(f"{node.output}/batch")
    batch = writer.add("Shape", writer.input, output=name, end=1)
    rest = writer.constant(f"{node.output}/sizes", np.array(node.shape, np.int64))
    shape = writer.unused_name(f"{node.output}/whole")
    writer.add("Concat", batch, rest, output=shape, axis=0)
    writer.add("Expand", constant, shape, output=node.output)


MAX_POSITION = 2**24  # positions are stored as float32


def _take_shape(op: ops.TakeOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    positions, size = constants[op.positions], math.prod(shapes[0])
    expect(size <= MAX_POSITION, f"{size} values in an item, but at most {MAX_POSITION} fit")
    expect(positions.max(initial=-1) < size, f"a position beyond the {size} values of an item")
    return tuple(positions.shape)


def _take(op: ops.TakeOp, inputs: Sequence[Array], constants: Constants) -> Array:
    positions = constants[op.positions].astype(np.int64)
    flat = inputs[0].reshape(len(inputs[0]), -1)
    zero = inputs[0].dtype.type(0)
    return np.where(positions < 0, zero, flat[:, np.maximum(positions, 0)])


def _emit_take(op: ops.TakeOp, emitter: Emitter, node: Node) -> str:
    positions = emitter.constant(op.positions)
    return f"net.take({emitter.read(node)}, {sizes(node.shape)}, {positions})"


def _onnx_take(op: ops.TakeOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    """Of the flat item with a zero at its end."""
    positions, size = writer.constants[op.positions], math.prod(shapes[0])
    axis = writer.constant(f"{node.output}/pads", np.array([0, 0, 0, 1], np.int64))
    flat = writer.add(
        "Flatten", node.inputs[0], output=writer.unused_name(f"{node.output}/flat"), axis=1
    )
    longer = writer.add("Pad", flat, axis, output=writer.unused_name(f"{node.output}/longer"))
    whole = np.where(positions < 0, size, positions).astype(np.int64)
    indices = writer.constant(f"{node.output}/indices", whole)
    writer.add("Gather", longer, indices, output=node.output, axis=1)


def _cast(op: ops.CastOp, inputs: Sequence[Array], constants: Constants) -> Array:
    return inputs[0]


def _emit_cast(op: ops.CastOp, emitter: Emitter, node: Node) -> str:
    return f"net.cast({emitter.read(node)})"


def _onnx_cast(op: ops.CastOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    writer.add("Identity", node.inputs[0], output=node.output)


TABLE: dict[type, Definition] = {
    ops.TakeOp: Definition(shape=_take_shape, compute=_take, emit=_emit_take, onnx=_onnx_take),
    ops.CastOp: Definition(shape=same_shape, compute=_cast, emit=_emit_cast, onnx=_onnx_cast),
    ops.ConcatenateOp: Definition(
        shape=_concatenate_shape,
        compute=_concatenate,
        emit=_emit_concatenate,
        onnx=_onnx_concatenate,
    ),
    ops.ReshapeOp: Definition(
        shape=_reshape_shape, compute=_reshape, emit=_emit_reshape, onnx=_onnx_reshape
    ),
    ops.TransposeOp: Definition(
        shape=_transpose_shape, compute=_transpose, emit=_emit_transpose, onnx=_onnx_transpose
    ),
    ops.PadOp: Definition(shape=_pad_shape, compute=_pad, emit=_emit_pad, onnx=_onnx_pad),
    ops.UpsampleOp: Definition(
        shape=_upsample_shape, compute=_upsample, emit=_emit_upsample, onnx=_onnx_upsample
    ),
    ops.SliceOp: Definition(shape=_slice_shape, compute=_slice, emit=_emit_slice, onnx=_onnx_slice),
    ops.ConstantOp: Definition(
        shape=_constant_shape, compute=_constant, emit=_emit_constant, onnx=_onnx_constant
    ),
}
