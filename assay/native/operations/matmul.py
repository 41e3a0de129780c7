"""Convolutions, dense layers, matrix products and embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.core.errors import AssayError
from assay.native import ops
from assay.native.operations.definition import (
    Array,
    Constants,
    Definition,
    Shape,
    add_bias,
    broadcast_shape,
    emit_option,
    expect,
    expect_image,
    expect_inputs,
    expect_vector,
    pad_borders,
    sizes,
    window_positions,
)

if TYPE_CHECKING:
    from assay.native.emit import Emitter
    from assay.native.graph import Node
    from assay.native.onnx.writer import Writer


def _conv_shape(op: ops.ConvOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    channels, height, width = expect_image(shapes[0])
    expect_inputs(op, shapes)
    weight = constants[op.weight].shape
    expect(len(weight) == 4, f"a weight of {weight}, but (out, in, height, width) is needed")
    fits = weight[1] * op.groups == channels and weight[0] % op.groups == 0
    expect(fits, f"a weight of {weight} in {op.groups} groups for {channels} channels")
    expect_vector(op.bias, weight[0], constants)
    expect_vector(op.scales, weight[0], constants)
    reach = [(size - 1) * step + 1 for size, step in zip(weight[2:], op.dilations, strict=True)]
    return (
        weight[0],
        *window_positions((height, width), (reach[0], reach[1]), op.strides, op.pads),
    )


def _conv(op: ops.ConvOp, inputs: Sequence[Array], constants: Constants) -> Array:
    """Sum of one product for each position in the kernel."""
    weight, values = constants[op.weight], pad_borders(inputs[0], op.pads, 0)
    out, into, *kernel = weight.shape
    grouped = values.reshape(len(values), op.groups, into, *values.shape[2:])
    room = [values.shape[2 + axis] - (kernel[axis] - 1) * op.dilations[axis] - 1 for axis in (0, 1)]
    size = [room[axis] // op.strides[axis] + 1 for axis in (0, 1)]
    result = np.zeros((len(values), op.groups, out // op.groups, *size), values.dtype)
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            start = (row * op.dilations[0], column * op.dilations[1])
            window = grouped[(..., *strided_slices(start, size, op.strides))]
            part = weight[:, :, row, column].reshape(op.groups, -1, into)
            result += np.einsum("goi,ngihw->ngohw", part, window, optimize=True)
    sums = apply_perforation(_scale(result.reshape(len(values), out, *size), op, constants), op)
    return add_bias(sums, op.bias, constants)


def _scale(sums: Array, op: ops.ConvOp, constants: Constants) -> Array:
    return sums * constants[op.scales].reshape(-1, 1, 1) if op.scales else sums


def apply_perforation(sums: Array, op: ops.ConvOp) -> Array:
    """Interpolate the rows and columns that a perforated convolution skips."""
    *every, offset = op.perforation
    for axis, step in zip((2, 3), every, strict=True):
        sums = _interpolate(sums, axis, step, offset) if step > 1 else sums
    return sums


def _interpolate(sums: Array, axis: int, step: int, offset: int) -> Array:
    lines = np.moveaxis(sums, axis, 0).copy()
    skipped = range(offset, len(lines), step)
    if len(skipped) == len(lines):  # the only line is computed
        return sums
    for line in skipped:
        first, last = (
            (line + 1 if line == 0 else line - 1),
            (line - 1 if line + 1 == len(lines) else line + 1),
        )
        lines[line] = (lines[first] + lines[last]) / 2
    return np.moveaxis(lines, 0, axis)


def strided_slices(start: ops.Pair, size: Sequence[int], strides: ops.Pair) -> tuple[slice, slice]:
    stops = [start[axis] + (size[axis] - 1) * strides[axis] + 1 for axis in (0, 1)]
    return slice(start[0], stops[0], strides[0]), slice(start[1], stops[1], strides[1])


def _emit_conv(op: ops.ConvOp, emitter: Emitter, node: Node) -> str:
    window = emitter.graph.constants[op.weight].shape[2:]
    call = (
        f"net.convolution({emitter.read(node)}, {sizes(node.shape)}, {sizes(window)}, "
        f"{emitter.constant(op.weight)}{emitter.bias(op.bias)})"
    )
    call += emit_option(op.strides, (1, 1), "strides") + emit_option(op.pads, (0,) * 4, "pads")
    call += emit_option(op.dilations, (1, 1), "dilations") + emit_option(
        (op.groups,), (1,), "groups"
    )
    return (
        call + emitter.forced_kernel(node) + _emit_knobs(op, emitter) + emitter.posts(node, op.post)
    )


def _emit_knobs(op: ops.ConvOp, emitter: Emitter) -> str:
    words = f".weight_scales({emitter.constant(op.scales)})" if op.scales else ""
    words += emit_option(op.perforation, (1, 1, 0), "perforation")
    words += ".sampled_weights()" if op.sampled else ""
    return words + (
        ".max_pool_2x2()" if any(isinstance(post, ops.PoolOp) for post in op.post) else ""
    )


def _onnx_conv(op: ops.ConvOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    constants = tuple(filter(None, (op.weight, op.bias)))
    writer.add(
        "Conv",
        node.inputs[0],
        *constants,
        output=node.output,
        strides=op.strides,
        pads=op.pads,
        dilations=op.dilations,
        group=op.groups,
    )


def _dense_shape(op: ops.DenseOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    weight = constants[op.weight].shape
    fits = len(weight) == 2 and weight[1] == shapes[0][-1]
    expect(fits, f"a weight of {weight} (out, in) for an input of {shapes[0]}")
    expect_vector(op.bias, weight[0], constants)
    expect_vector(op.scales, weight[0], constants)
    return (*shapes[0][:-1], weight[0])


def _dense(op: ops.DenseOp, inputs: Sequence[Array], constants: Constants) -> Array:
    product = inputs[0] @ constants[op.weight].T
    product = product * constants[op.scales] if op.scales else product
    return product + constants[op.bias] if op.bias else product


def _emit_dense(op: ops.DenseOp, emitter: Emitter, node: Node) -> str:
    """A dense layer over rows of a matrix; more axes are reshaped before and after."""
    before, shape = emitter.read(node), node.shape
    if len(shape) > 2:
        rows = int(np.prod(shape[:-1]))
        before = f"net.reshape({before}, {sizes((rows, emitter.shape(node)[-1]))})"
        shape = (rows, shape[-1])
    weights = f"{emitter.constant(op.weight)}{emitter.bias(op.bias)}"
    call = f"net.dense({before}, {sizes(shape)}, {weights}){emitter.forced_kernel(node)}"
    call += f".weight_scales({emitter.constant(op.scales)})" if op.scales else ""
    if shape == node.shape:
        return call + emitter.posts(node, op.post)
    call = f"net.reshape({call}, {sizes(node.shape)})"
    return emitter.apply_posts(call, node, op.post)


def _onnx_dense(op: ops.DenseOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    if len(shapes[0]) == 1:
        constants = tuple(filter(None, (op.weight, op.bias)))
        writer.add("Gemm", node.inputs[0], *constants, output=node.output, transB=1)
        return
    transposed = writer.constant(f"{op.weight}/turned", writer.constants[op.weight].T)
    product = writer.unused_name(f"{node.output}/product") if op.bias else node.output
    writer.add("MatMul", node.inputs[0], transposed, output=product)
    if op.bias:
        writer.add("Add", product, op.bias, output=node.output)


def _matmul_shape(op: ops.MatMulOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes, 2)
    first, second = shapes
    expect(min(len(first), len(second)) >= 2, f"{first} and {second}, but matrices are needed")
    expect(first[-1] == second[-2], f"{first} times {second}")
    return (*broadcast_shape(first[:-2], second[:-2]), first[-2], second[-1])


def _matmul(op: ops.MatMulOp, inputs: Sequence[Array], constants: Constants) -> Array:
    product: Array = inputs[0] @ inputs[1]
    return product


def _emit_matmul(op: ops.MatMulOp, emitter: Emitter, node: Node) -> str:
    return f"net.matmul({emitter.read(node)}, {emitter.read(node, 1)}, {sizes(node.shape)})"


def _onnx_matmul(op: ops.MatMulOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    writer.add("MatMul", *node.inputs, output=node.output)


def _embedding_shape(op: ops.EmbeddingOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    weight = constants[op.weight].shape
    expect(len(weight) == 2, f"a weight of {weight}, but (rows, size) is needed")
    return (*shapes[0], weight[1])


def _embedding(op: ops.EmbeddingOp, inputs: Sequence[Array], constants: Constants) -> Array:
    table, indices = constants[op.weight], inputs[0]
    if op.checked:
        return _checked_rows(table, indices)
    rows: Array = table[np.clip(indices.astype(np.int64), 0, len(table) - 1)]
    return rows


def _checked_rows(table: Array, indices: Array) -> Array:
    wrong = ~((indices >= -len(table)) & (indices < len(table)))
    if wrong.any():
        raise AssayError(
            f"The index {indices[wrong].flat[0]:.0f} is out of range: the table of this layer has "
            f"{len(table)} rows.",
            hint="Check the inputs of the model.",
        )
    rows: Array = table[indices.astype(np.int64)]
    return rows


def _emit_embedding(op: ops.EmbeddingOp, emitter: Emitter, node: Node) -> str:
    """An embedding of a vector of indices; more axes are reshaped before and after."""
    rows, length = emitter.graph.constants[op.weight].shape
    value, count = emitter.read(node), int(np.prod(node.shape[:-1]))
    flat = value if len(node.shape) == 2 else f"net.reshape({value}, {sizes((count,))})"
    table = f"{emitter.constant(op.weight)}, {rows}"
    call = f"net.embedding({flat}, {sizes((count, length))}, {table})"
    call += ".check_indices()" if op.checked else ""
    return call if len(node.shape) == 2 else f"net.reshape({call}, {sizes(node.shape)})"


def _onnx_embedding(
    op: ops.EmbeddingOp, writer: Writer, node: Node, shapes: Sequence[Shape]
) -> None:
    indices = writer.unused_name(f"{node.output}/whole")
    writer.add("Cast", node.inputs[0], output=indices, to=7)  # int64
    writer.add("Gather", op.weight, indices, output=node.output, axis=0)


def _gather_shape(op: ops.GatherOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes, 2)
    table, indices = shapes
    expect(len(table) == 2, f"a table of {table}, but (rows, size) is needed")
    expect(len(indices) == 1, f"indices of {indices}, but (count,) is needed")
    return (indices[0], table[1])


def _gather(op: ops.GatherOp, inputs: Sequence[Array], constants: Constants) -> Array:
    batch = max(map(len, inputs))
    tables, indices = (np.broadcast_to(each, (batch, *each.shape[1:])) for each in inputs)
    return np.stack([_checked_rows(*pair) for pair in zip(tables, indices, strict=True)])


def _emit_gather(op: ops.GatherOp, emitter: Emitter, node: Node) -> str:
    return f"net.gather({emitter.read(node)}, {emitter.read(node, 1)}, {sizes(node.shape)})"


def _onnx_gather(op: ops.GatherOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    """Along rows of each item, by indices repeated for each column."""
    table, values = node.inputs
    integers = writer.add("Cast", values, output=writer.unused_name(f"{node.output}/whole"), to=7)
    last = writer.constant(f"{node.output}/last", np.array([2], np.int64))
    column = writer.unused_name(f"{node.output}/column")
    writer.add("Unsqueeze", integers, last, output=column)
    repeats = writer.constant(f"{node.output}/repeats", np.array([1, 1, shapes[0][1]], np.int64))
    whole = writer.add("Tile", column, repeats, output=writer.unused_name(f"{node.output}/indices"))
    writer.add("GatherElements", table, whole, output=node.output, axis=1)


TABLE: dict[type, Definition] = {
    ops.GatherOp: Definition(
        shape=_gather_shape, compute=_gather, emit=_emit_gather, onnx=_onnx_gather
    ),
    ops.ConvOp: Definition(shape=_conv_shape, compute=_conv, emit=_emit_conv, onnx=_onnx_conv),
    ops.DenseOp: Definition(shape=_dense_shape, compute=_dense, emit=_emit_dense, onnx=_onnx_dense),
    ops.MatMulOp: Definition(
        shape=_matmul_shape, compute=_matmul, emit=_emit_matmul, onnx=_onnx_matmul
    ),
    ops.EmbeddingOp: Definition(
        shape=_embedding_shape, compute=_embedding, emit=_emit_embedding, onnx=_onnx_embedding
    ),
}
