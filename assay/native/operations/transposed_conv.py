"""Transposed convolutions."""

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
    add_bias,
    emit_option,
    expect,
    expect_image,
    expect_inputs,
    expect_vector,
    pad_borders,
    sizes,
)
from assay.native.operations.matmul import strided_slices

if TYPE_CHECKING:
    from assay.native.emit import Emitter
    from assay.native.graph import Node
    from assay.native.onnx.writer import Writer


def _conv_transpose_shape(
    op: ops.ConvTransposeOp, shapes: Sequence[Shape], constants: Constants
) -> Shape:
    channels, *size = expect_image(shapes[0])
    expect_inputs(op, shapes)
    weight = constants[op.weight].shape
    expect(len(weight) == 4, f"a weight of {weight}, but (in, out, height, width) is needed")
    fits = weight[0] == channels and channels % op.groups == 0
    expect(fits, f"a weight of {weight} in {op.groups} groups for {channels} channels")
    filters = weight[1] * op.groups
    expect_vector(op.bias, filters, constants)
    expect(min(op.pads[:2]) >= 0, f"a padding of {op.pads}")
    reach = [(weight[2 + axis] - 1) * op.dilations[axis] + 1 for axis in (0, 1)]
    output_size = [
        (size[axis] - 1) * op.strides[axis] + reach[axis] - op.pads[axis] - op.pads[2 + axis]
        for axis in (0, 1)
    ]
    return (filters, *output_size)


def as_conv(op: ops.ConvTransposeOp, weight: Array) -> tuple[Array, ops.Pads]:
    """Weight and padding of the equal convolution of an input dilated by zeros.

    A negative padding is cut off the dilated input.
    """
    channels, each, high, wide = weight.shape
    grouped = weight.reshape(op.groups, channels // op.groups, each, high, wide)
    flipped = grouped.transpose(0, 2, 1, 3, 4)[..., ::-1, ::-1]
    reach = ((high - 1) * op.dilations[0], (wide - 1) * op.dilations[1])
    top, left, bottom, right = (reach[side % 2] - pad for side, pad in enumerate(op.pads))
    flat = flipped.reshape(op.groups * each, channels // op.groups, high, wide)
    return np.ascontiguousarray(flat), (top, left, bottom, right)


def _conv_transpose(
    op: ops.ConvTransposeOp, inputs: Sequence[Array], constants: Constants
) -> Array:
    """Each input pixel adds the kernel times itself, and the border is cut off."""
    values, weight = inputs[0], constants[op.weight]
    count, channels, height, width = values.shape
    each, high, wide = weight.shape[1:]
    reach = [(high - 1) * op.dilations[0] + 1, (wide - 1) * op.dilations[1] + 1]
    full_size = [(height - 1) * op.strides[0] + reach[0], (width - 1) * op.strides[1] + reach[1]]
    sums = np.zeros((count, op.groups, each, *full_size), values.dtype)
    grouped = values.reshape(count, op.groups, channels // op.groups, height, width)
    for row in range(high):
        for column in range(wide):
            start = (row * op.dilations[0], column * op.dilations[1])
            part = weight[:, :, row, column].reshape(op.groups, -1, each)
            sums[(..., *strided_slices(start, (height, width), op.strides))] += np.einsum(
                "gio,ngihw->ngohw", part, grouped, optimize=True
            )
    result = sums.reshape(count, op.groups * each, *full_size)
    top, left, bottom, right = op.pads
    result = pad_borders(result, (0, 0, max(0, -bottom), max(0, -right)), 0)
    result = result[:, :, top : full_size[0] - bottom, left : full_size[1] - right]
    return add_bias(result, op.bias, constants)


def _emit_conv_transpose(op: ops.ConvTransposeOp, emitter: Emitter, node: Node) -> str:
    """A convolution of the input dilated by zeros."""
    weight, pads = as_conv(op, emitter.graph.constants[op.weight])
    channels, height, width = emitter.shape(node)
    dilated = (channels, (height - 1) * op.strides[0] + 1, (width - 1) * op.strides[1] + 1)
    value = emitter.read(node)
    if op.strides != (1, 1):
        value = f"net.dilate({value}, {sizes(dilated)}, {sizes(op.strides)})"
    if min(pads) < 0:
        crop = [max(0, -pad) for pad in pads]
        starts = (0, crop[0], crop[1])
        size = (channels, dilated[1] - crop[0] - crop[2], dilated[2] - crop[1] - crop[3])
        value = f"net.slice({value}, {sizes(size)}, {sizes(starts)}, {{1, 1, 1}})"
    name = emitter.constant(f"{node.name}/turned_kernel", weight)
    call = f"net.convolution({value}, {sizes(node.shape)}, {sizes(weight.shape[2:])}, {name}"
    call += f"{emitter.bias(op.bias)})" + emit_option(
        [max(0, pad) for pad in pads], (0,) * 4, "pads"
    )
    call += emit_option(op.dilations, (1, 1), "dilations")
    return call + emit_option((op.groups,), (1,), "groups")


def _onnx_conv_transpose(
    op: ops.ConvTransposeOp, writer: Writer, node: Node, shapes: Sequence[Shape]
) -> None:
    top, left, bottom, right = op.pads
    writer.add(
        "ConvTranspose",
        node.inputs[0],
        *filter(None, (op.weight, op.bias)),
        output=node.output,
        strides=op.strides,
        pads=(top, left, max(0, bottom), max(0, right)),
        output_padding=(max(0, -bottom), max(0, -right)),
        dilations=op.dilations,
        group=op.groups,
    )


TABLE: dict[type, Definition] = {
    ops.ConvTransposeOp: Definition(
        shape=_conv_transpose_shape,
        compute=_conv_transpose,
        emit=_emit_conv_transpose,
        onnx=_onnx_conv_transpose,
    )
}
