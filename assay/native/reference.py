"""A graph computed by numpy: plain, slow and right, so that everything else has a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from assay.core.errors import UsageError
from assay.native import ops
from assay.native.activations import activated
from assay.native.graph import Array, Graph, Node


def outputs(graph: Graph, *inputs: Array, dtype: Any = np.float32) -> tuple[Array, ...]:  # noqa: ANN401
    """The graph's outputs for a batch of each input; computed in `dtype` from end to end."""
    values = computed(graph, *inputs, dtype=dtype)
    return tuple(values[name] for name in graph.outputs)


def computed(graph: Graph, *inputs: Array, dtype: Any = np.float32) -> dict[str, Array]:  # noqa: ANN401
    """Every value of the graph by name; each has the batch as its first axis."""
    _check_inputs(graph, inputs)
    constants = {name: array.astype(dtype) for name, array in graph.constants.items()}
    given = zip(graph.inputs, inputs, strict=True)
    values = {value.name: array.astype(dtype) for value, array in given}
    for node in graph.nodes:
        values[node.output] = result_of(node, [values[name] for name in node.inputs], constants)
    return values


def _check_inputs(graph: Graph, inputs: Sequence[Array]) -> None:
    wanted = [value.shape for value in graph.inputs]
    received = [array.shape[1:] for array in inputs]
    if received != wanted:
        raise UsageError(
            f"{graph.name} takes items of {_listed(wanted)}, but received {_listed(received)}.",
            hint="The first axis of each input is the batch.",
        )


def _listed(shapes: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(map(str, shapes)) or "nothing"


def result_of(node: Node, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    """One node, with what is done after its operation."""
    result = _done(node.op, inputs, constants)
    for post in getattr(node.op, "post", ()):
        if isinstance(post, ops.ResidualOp):
            result = result + inputs[-1]
        elif isinstance(post, ops.ActivationOp):
            result = activated(post, result)
        else:
            result = _pooled(post, result)
    return result


@singledispatch
def _done(op: ops.Op, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    """One operation, without what is done after it."""
    raise NotImplementedError(type(op).__name__)


@_done.register
def _(op: ops.ConvOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    """A product for each position of the kernel, over all places it is laid on."""
    weight, values = constants[op.weight], _padded(inputs[0], op.pads, 0)
    out, into, *kernel = weight.shape
    grouped = values.reshape(len(values), op.groups, into, *values.shape[2:])
    room = [values.shape[2 + axis] - (kernel[axis] - 1) * op.dilations[axis] - 1 for axis in (0, 1)]
    size = [room[axis] // op.strides[axis] + 1 for axis in (0, 1)]
    result = np.zeros((len(values), op.groups, out // op.groups, *size), values.dtype)
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            start = (row * op.dilations[0], column * op.dilations[1])
            seen = grouped[(..., *_every(start, size, op.strides))]
            part = weight[:, :, row, column].reshape(op.groups, -1, into)
            seen = seen.reshape(*seen.shape[:3], -1)
            result += (part @ seen).reshape(result.shape)
    return _with_bias(result.reshape(len(values), out, *size), op.bias, constants)


@_done.register
def _(op: ops.DenseOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    product = inputs[0] @ constants[op.weight].T
    return product + constants[op.bias] if op.bias else product


@_done.register
def _(op: ops.BatchNormOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    values = inputs[0]
    wide = (-1, *(1,) * (values.ndim - 2))
    scale = 1 / np.sqrt(constants[op.variance] + values.dtype.type(op.epsilon))
    if op.gamma:
        scale = scale * constants[op.gamma]
    result = (values - constants[op.mean].reshape(wide)) * scale.reshape(wide)
    return _with_bias(result, op.beta, constants)


@_done.register
def _(op: ops.PoolOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    return _pooled(op, inputs[0])


@_done.register
def _(op: ops.GlobalPoolOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    found: Array = inputs[0].max((2, 3)) if op.kind == "max" else inputs[0].mean((2, 3))
    return found


@_done.register
def _(op: ops.ActivationOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    return activated(op, inputs[0])


@_done.register
def _(op: ops.SoftmaxOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    axis = op.axis + 1
    powers = np.exp(inputs[0] - inputs[0].max(axis, keepdims=True))
    shares: Array = powers / powers.sum(axis, keepdims=True)
    return shares


_BINARY = {
    "add": np.add,
    "multiply": np.multiply,
    "subtract": np.subtract,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@_done.register
def _(op: ops.BinaryOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    result: Array = _BINARY[op.kind](*inputs)
    return result


@_done.register
def _(op: ops.ConcatenateOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    return np.concatenate(inputs, op.axis + 1)


@_done.register
def _(op: ops.ReshapeOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    return inputs[0].reshape(len(inputs[0]), *op.shape)


@_done.register
def _(op: ops.TransposeOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    return inputs[0].transpose(0, *(axis + 1 for axis in op.order))


@_done.register
def _(op: ops.PadOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    return _padded(inputs[0], op.pads, 0)


@_done.register
def _(op: ops.UpsampleOp, inputs: Sequence[Array], constants: Mapping[str, Array]) -> Array:
    return inputs[0].repeat(op.scale[0], 2).repeat(op.scale[1], 3)


def _pooled(op: ops.PoolOp, values: Array) -> Array:
    """A window's maximum or mean, over what of it lies inside the image."""
    fill = -np.inf if op.kind == "max" else 0
    windows = _windows(_padded(values, op.pads, fill), op)
    if op.kind == "max":
        largest: Array = windows.max((-2, -1))
        return largest
    inside = _windows(_padded(np.ones_like(values[:1, :1]), op.pads, 0), op)
    mean: Array = windows.sum((-2, -1)) / inside.sum((-2, -1))
    return mean


def _windows(values: Array, op: ops.PoolOp) -> Array:
    found = np.lib.stride_tricks.sliding_window_view(values, op.window, (2, 3))
    return found[:, :, :: op.strides[0], :: op.strides[1]]


def _every(start: ops.Pair, size: Sequence[int], strides: ops.Pair) -> tuple[slice, slice]:
    stops = [start[axis] + (size[axis] - 1) * strides[axis] + 1 for axis in (0, 1)]
    return slice(start[0], stops[0], strides[0]), slice(start[1], stops[1], strides[1])


def _padded(values: Array, pads: ops.Pads, fill: float) -> Array:
    top, left, bottom, right = pads
    return np.pad(values, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)


def _with_bias(values: Array, name: str, constants: Mapping[str, Array]) -> Array:
    return values + constants[name].reshape(-1, *(1,) * (values.ndim - 2)) if name else values
