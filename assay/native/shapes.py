"""The shape an operation gives, from the shapes it gets. Shapes are of one item."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import singledispatch
from typing import Any

from assay.native import ops

Shape = tuple[int, ...]
Constants = Mapping[str, Any]  # of arrays


class ShapeError(ValueError):
    """An operation that does not fit its inputs or constants."""


def output_shape(op: ops.Op, shapes: Sequence[Shape], constants: Constants) -> Shape:
    """Raises ShapeError, in words, where the operation cannot be done."""
    shape = _shape(op, shapes, constants)
    for post in getattr(op, "post", ()):
        if isinstance(post, ops.PoolOp):
            shape = _pool_shape(post, shape)
        elif isinstance(post, ops.ResidualOp):
            _expect(shapes[-1] == shape, f"a residual of {shapes[-1]} is added to {shape}")
    _expect(all(size > 0 for size in shape), f"the result {shape} would be empty")
    return shape


@singledispatch
def _shape(op: ops.Op, shapes: Sequence[Shape], constants: Constants) -> Shape:
    """Operations that keep the shape of their input."""
    _expect(len(shapes) == 1, f"{len(shapes)} inputs, but it takes one")
    return shapes[0]


@_shape.register
def _(op: ops.ConvOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    channels, height, width = _image(shapes[0])
    _count_inputs(op, shapes)
    weight = constants[op.weight].shape
    _expect(len(weight) == 4, f"a weight of {weight}, but (out, in, height, width) is needed")
    fits = weight[1] * op.groups == channels and weight[0] % op.groups == 0
    _expect(fits, f"a weight of {weight} in {op.groups} groups for {channels} channels")
    _vector(op.bias, weight[0], constants)
    reach = [(size - 1) * step + 1 for size, step in zip(weight[2:], op.dilations, strict=True)]
    return (weight[0], *_slide((height, width), (reach[0], reach[1]), op.strides, op.pads))


@_shape.register
def _(op: ops.DenseOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _count_inputs(op, shapes)
    weight = constants[op.weight].shape
    fits = len(weight) == 2 and weight[1] == shapes[0][-1]
    _expect(fits, f"a weight of {weight} (out, in) for an input of {shapes[0]}")
    _vector(op.bias, weight[0], constants)
    return (*shapes[0][:-1], weight[0])


@_shape.register
def _(op: ops.BatchNormOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _count_inputs(op, shapes)
    for name in (op.mean, op.variance, op.gamma, op.beta):
        _vector(name, shapes[0][0], constants)
    return shapes[0]


@_shape.register
def _(op: ops.PoolOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _count_inputs(op, shapes)
    return _pool_shape(op, shapes[0])


@_shape.register
def _(op: ops.GlobalPoolOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _count_inputs(op, shapes)
    return _image(shapes[0])[:1]


@_shape.register
def _(op: ops.SoftmaxOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _count_inputs(op, shapes)
    _expect(0 <= op.axis < len(shapes[0]), f"there is no axis {op.axis} in {shapes[0]}")
    return shapes[0]


@_shape.register
def _(op: ops.BinaryOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _expect(len(shapes) == 2, f"{len(shapes)} inputs, but it takes two")
    first, second = shapes
    fits = len(first) == len(second) and all(
        a == b or 1 in (a, b) for a, b in zip(first, second, strict=True)
    )
    _expect(fits, f"{first} and {second} do not fit")
    return tuple(max(a, b) for a, b in zip(first, second, strict=True))


@_shape.register
def _(op: ops.ConcatenateOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    axis, first = op.axis, shapes[0]
    _expect(0 <= axis < len(first), f"there is no axis {axis} in {first}")
    rest = {(shape[:axis], shape[axis + 1 :]) for shape in shapes}
    _expect(len(rest) == 1, f"{', '.join(map(str, shapes))} differ beyond axis {axis}")
    return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :])


@_shape.register
def _(op: ops.ReshapeOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _count_inputs(op, shapes)
    _expect(math.prod(op.shape) == math.prod(shapes[0]), f"{shapes[0]} is not {op.shape}")
    return op.shape


@_shape.register
def _(op: ops.TransposeOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _count_inputs(op, shapes)
    whole = sorted(op.order) == list(range(len(shapes[0])))
    _expect(whole, f"the order {op.order} for an input of {shapes[0]}")
    return tuple(shapes[0][axis] for axis in op.order)


@_shape.register
def _(op: ops.PadOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _count_inputs(op, shapes)
    channels, height, width = _image(shapes[0])
    top, left, bottom, right = op.pads
    return (channels, height + top + bottom, width + left + right)


@_shape.register
def _(op: ops.UpsampleOp, shapes: Sequence[Shape], constants: Constants) -> Shape:
    _count_inputs(op, shapes)
    channels, height, width = _image(shapes[0])
    return (channels, height * op.scale[0], width * op.scale[1])


def _pool_shape(op: ops.PoolOp, shape: Shape) -> Shape:
    channels, height, width = _image(shape)
    # A window wholly in the padding has no maximum and no mean.
    fits = all(pad < op.window[index % 2] for index, pad in enumerate(op.pads))
    _expect(fits, f"a window of {op.window} with padding {op.pads}")
    return (channels, *_slide((height, width), op.window, op.strides, op.pads))


def _slide(size: ops.Pair, reach: ops.Pair, strides: ops.Pair, pads: ops.Pads) -> ops.Pair:
    """How often a window fits, along height and width."""
    room = (size[0] + pads[0] + pads[2] - reach[0], size[1] + pads[1] + pads[3] - reach[1])
    _expect(min(room) >= 0, f"a window of {reach} does not fit into {size} padded by {pads}")
    return (room[0] // strides[0] + 1, room[1] // strides[1] + 1)


def _image(shape: Shape) -> Shape:
    _expect(len(shape) == 3, f"an input of {shape}, but (channels, height, width) is needed")
    return shape


def _vector(name: str, size: int, constants: Constants) -> None:
    _expect(
        not name or constants[name].shape == (size,),
        f"the constant '{name}' is not of shape ({size},)",
    )


def _count_inputs(op: ops.Op, shapes: Sequence[Shape]) -> None:
    residuals = sum(isinstance(post, ops.ResidualOp) for post in getattr(op, "post", ()))
    _expect(residuals <= 1, f"{residuals} residuals, but one at most can be added")
    _expect(len(shapes) == 1 + residuals, f"{len(shapes)} inputs, but it takes {1 + residuals}")


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise ShapeError(what)
