"""Normalization ops: batch norm, layer norm, softmax."""

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
    expect,
    expect_image,
    expect_inputs,
    expect_vector,
    same_shape,
    sizes,
)

if TYPE_CHECKING:
    from assay.native.emit import Emitter
    from assay.native.graph import Node
    from assay.native.onnx.writer import Writer


def _batch_norm_shape(op: ops.BatchNormOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    for name in (op.mean, op.variance, op.gamma, op.beta):
        expect_vector(name, shapes[0][0], constants)
    return shapes[0]


def _batch_norm(op: ops.BatchNormOp, inputs: Sequence[Array], constants: Constants) -> Array:
    values = inputs[0]
    wide = (-1, *(1,) * (values.ndim - 2))
    scale = 1 / np.sqrt(constants[op.variance] + values.dtype.type(op.epsilon))
    if op.gamma:
        scale = scale * constants[op.gamma]
    result = (values - constants[op.mean].reshape(wide)) * scale.reshape(wide)
    return add_bias(result, op.beta, constants)


def _emit_batch_norm(op: ops.BatchNormOp, emitter: Emitter, node: Node) -> str:
    constants = emitter.graph.constants
    deviation = np.sqrt(constants[op.variance].astype(np.float64) + op.epsilon)
    scale = (constants[op.gamma] if op.gamma else 1.0) / deviation
    shift = (constants[op.beta] if op.beta else 0.0) - constants[op.mean] * scale
    names = [
        emitter.constant(f"{node.name}/{part}", np.asarray(values, np.float32))
        for part, values in (("scale", scale), ("shift", shift))
    ]
    call = f"net.normalize({emitter.read(node)}, {', '.join(names)})"
    return call + emitter.posts(node, op.post)


def _onnx_batch_norm(
    op: ops.BatchNormOp, writer: Writer, node: Node, shapes: Sequence[Shape]
) -> None:
    size = len(writer.constants[op.mean])
    gamma = op.gamma or writer.constant(f"{node.name}/ones", np.ones(size, np.float32))
    beta = op.beta or writer.constant(f"{node.name}/zeros", np.zeros(size, np.float32))
    inputs = (node.inputs[0], gamma, beta, op.mean, op.variance)
    writer.add("BatchNormalization", *inputs, output=node.output, epsilon=op.epsilon)


def _layer_norm_shape(op: ops.LayerNormOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    shape = shapes[0]
    rising = list(op.axes) == sorted(set(op.axes)) and all(0 <= a < len(shape) for a in op.axes)
    expect(bool(op.axes) and rising, f"the axes {op.axes} of {shape}")
    expected = tuple(shape[axis] for axis in op.axes)
    for name in filter(None, (op.gamma, op.beta)):
        fits = constants[name].shape == expected
        expect(fits, f"the constant '{name}' is not of shape {expected}")
    return shape


def _layer_norm(op: ops.LayerNormOp, inputs: Sequence[Array], constants: Constants) -> Array:
    values, axes = inputs[0], tuple(axis + 1 for axis in op.axes)
    if op.centered:
        values = values - values.mean(axes, keepdims=True)
    square = (values * values).mean(axes, keepdims=True)
    result: Array = values / np.sqrt(square + values.dtype.type(op.epsilon))
    wide = tuple(size if at in axes else 1 for at, size in enumerate(values.shape))
    if op.gamma:
        result = result * constants[op.gamma].reshape(wide)
    return result + constants[op.beta].reshape(wide) if op.beta else result


def _emit_layer_norm(op: ops.LayerNormOp, emitter: Emitter, node: Node) -> str:
    weights = f"{emitter.constant(op.gamma)}, {emitter.constant(op.beta)}"
    centered = "true" if op.centered else "false"
    numbers = f"{weights}, {float(op.epsilon)!r}f, {centered}"
    return f"net.layer_norm({emitter.read(node)}, {sizes(op.axes)}, {numbers})"


def _onnx_layer_norm(
    op: ops.LayerNormOp, writer: Writer, node: Node, shapes: Sequence[Shape]
) -> None:
    """Decomposed: ONNX's LayerNormalization covers only the last axes."""
    shape = shapes[0]
    wide = tuple(size if axis in op.axes else 1 for axis, size in enumerate(shape))
    name, value = node.output, node.inputs[0]

    def then(kind: str, *inputs: str) -> str:
        return writer.add(kind, *inputs, output=writer.unused_name(f"{name}/{kind}"))

    if op.centered:
        mean = writer.reduce("ReduceMean", value, op.axes, writer.unused_name(f"{name}/mean"))
        value = then("Sub", value, mean)
    square = then("Mul", value, value)
    square = writer.reduce("ReduceMean", square, op.axes, writer.unused_name(f"{name}/square"))
    epsilon = writer.constant(f"{name}/epsilon", np.float32(op.epsilon))
    value = then("Div", value, then("Sqrt", then("Add", square, epsilon)))
    for kind, constant in (("Mul", op.gamma), ("Add", op.beta)):
        if constant:
            broadcast = writer.constant(
                f"{constant}/wide", writer.constants[constant].reshape(1, *wide)
            )
            value = then(kind, value, broadcast)
    writer.add("Identity", value, output=name)


def _local_norm_shape(op: ops.LocalNormOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect(op.size > 0, f"the mean of {op.size} channels")
    return expect_image(same_shape(op, shapes, constants))


def _local_norm(op: ops.LocalNormOp, inputs: Sequence[Array], constants: Constants) -> Array:
    values, before = inputs[0], (op.size - 1) // 2
    around = ((0, 0), (before, op.size - 1 - before), (0, 0), (0, 0))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(values**2, around), op.size, 1)
    result: Array = values / (op.offset + op.alpha / op.size * windows.sum(-1)) ** op.power
    return result.astype(values.dtype)


def _emit_local_norm(op: ops.LocalNormOp, emitter: Emitter, node: Node) -> str:
    numbers = ", ".join(
        f"{float(number)!r}f" for number in (op.alpha / op.size, op.power, op.offset)
    )
    return f"net.local_norm({emitter.read(node)}, {op.size}, {numbers})"


def _onnx_local_norm(
    op: ops.LocalNormOp, writer: Writer, node: Node, shapes: Sequence[Shape]
) -> None:
    """With an offset of 1: OpenVINO 2026.4 truncates others to an integer."""
    numbers = {"size": op.size, "alpha": op.alpha / op.offset, "beta": op.power, "bias": 1.0}
    name = node.output
    plain = writer.add("LRN", node.inputs[0], output=writer.unused_name(f"{name}/plain"), **numbers)
    factor = writer.constant(f"{name}/factor", np.float32(op.offset**-op.power))
    writer.add("Mul", plain, factor, output=name)


def _softmax_shape(op: ops.SoftmaxOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    shape = same_shape(op, shapes, constants)
    expect(0 <= op.axis < len(shape), f"there is no axis {op.axis} in {shape}")
    return shape


def _softmax(op: ops.SoftmaxOp, inputs: Sequence[Array], constants: Constants) -> Array:
    axis = op.axis + 1
    powers = np.exp(inputs[0] - inputs[0].max(axis, keepdims=True))
    shares: Array = powers / powers.sum(axis, keepdims=True)
    return shares


def _emit_softmax(op: ops.SoftmaxOp, emitter: Emitter, node: Node) -> str:
    return f"net.softmax({emitter.read(node)}, {op.axis})"


def _onnx_softmax(op: ops.SoftmaxOp, writer: Writer, node: Node, shapes: Sequence[Shape]) -> None:
    writer.add("Softmax", node.inputs[0], output=node.output, axis=op.axis + 1)


TABLE: dict[type, Definition] = {
    ops.BatchNormOp: Definition(
        shape=_batch_norm_shape, compute=_batch_norm, emit=_emit_batch_norm, onnx=_onnx_batch_norm
    ),
    ops.LayerNormOp: Definition(
        shape=_layer_norm_shape, compute=_layer_norm, emit=_emit_layer_norm, onnx=_onnx_layer_norm
    ),
    ops.LocalNormOp: Definition(
        shape=_local_norm_shape, compute=_local_norm, emit=_emit_local_norm, onnx=_onnx_local_norm
    ),
    ops.SoftmaxOp: Definition(
        shape=_softmax_shape, compute=_softmax, emit=_emit_softmax, onnx=_onnx_softmax
    ),
}
