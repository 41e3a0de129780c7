"""The definition of an operation: its shape, result, line of C++ and ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from assay.native import ops

if TYPE_CHECKING:
    from assay.native.emit import Emitter
    from assay.native.graph import Node
    from assay.native.onnx.writer import Writer

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Constants = Mapping[str, Array]


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """Of the operation alone; the caller handles `post`."""

    shape: Callable[[Any, Sequence[Shape], Constants], Shape]  # raises ShapeError
    compute: Callable[[Any, Sequence[Array], Constants], Array]  # of a batch, by numpy
    emit: Callable[[Any, Emitter, Node], str]  # a call of the runtime's Network
    onnx: Callable[[Any, Writer, Node, Sequence[Shape]], None]


class ShapeError(ValueError):
    """An operation that does not fit its inputs or constants."""


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise ShapeError(what)


def expect_image(shape: Shape) -> Shape:
    expect(len(shape) == 3, f"an input of {shape}, but (channels, height, width) is needed")
    return shape


def expect_vector(name: str, size: int, constants: Constants) -> None:
    expect(
        not name or constants[name].shape == (size,),
        f"the constant '{name}' is not of shape ({size},)",
    )


def expect_inputs(op: Any, shapes: Sequence[Shape], count: int = 1) -> None:
    residuals = sum(isinstance(post, ops.ResidualOp) for post in getattr(op, "post", ()))
    expect(residuals <= 1, f"{residuals} residuals, but one at most can be added")
    count += residuals
    expect(len(shapes) == count, f"{len(shapes)} inputs, but it takes {count}")


def same_shape(op: Any, shapes: Sequence[Shape], constants: Constants) -> Shape:
    expect_inputs(op, shapes)
    return shapes[0]


def window_positions(
    size: ops.Pair, reach: ops.Pair, strides: ops.Pair, pads: ops.Pads
) -> ops.Pair:
    """Number of window positions along height and width."""
    room = (size[0] + pads[0] + pads[2] - reach[0], size[1] + pads[1] + pads[3] - reach[1])
    expect(min(room) >= 0, f"a window of {reach} does not fit into {size} padded by {pads}")
    return (room[0] // strides[0] + 1, room[1] // strides[1] + 1)


def broadcast_shape(first: Shape, second: Shape) -> Shape:
    """The broadcast shape of two shapes of equal rank."""
    fits = len(first) == len(second) and all(
        a == b or 1 in (a, b) for a, b in zip(first, second, strict=True)
    )
    expect(fits, f"{first} and {second} do not fit")
    return tuple(max(a, b) for a, b in zip(first, second, strict=True))


def pad_borders(values: Array, pads: ops.Pads, fill: float) -> Array:
    top, left, bottom, right = pads
    return np.pad(values, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)


def add_bias(values: Array, name: str, constants: Constants) -> Array:
    return values + constants[name].reshape(-1, *(1,) * (values.ndim - 2)) if name else values


def sizes(numbers: Sequence[int]) -> str:
    """A C++ initializer list."""
    return f"{{{', '.join(map(str, numbers))}}}"


def emit_option(numbers: Sequence[int], default: Sequence[int], name: str) -> str:
    return "" if tuple(numbers) == tuple(default) else f".{name}({', '.join(map(str, numbers))})"
