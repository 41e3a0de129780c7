"""ONNX's Resize and Upsample: along each axis, weighted sums of a few rows of pixels.

Rows are taken by position rather than mixed by a matrix, which would spread one NaN over all of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from assay.native import ops
from assay.native.graph import Array
from assay.native.onnx.constant_folding import BATCH
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import Importing, refusal
from assay.native.onnx.rows import take_rows

# Rows on each side that have a share (cubic: Keys, 1981, with ONNX's -0.75).
_REACH = {"linear": 1, "cubic": 2}


class _Axis(msgspec.Struct, frozen=True):
    """One axis, and how it is resized."""

    old: int
    new: int
    scale: float
    mode: str
    coordinates: str
    nearest: str
    cubic: float

    def taps(self) -> list[tuple[Array, Array]]:
        """Positions of rows and their shares, which add up to the new rows."""
        places = self._places()
        if self.mode == "nearest":
            return [(self._nearest(places), np.ones(self.new))]
        first = np.floor(places).astype(int)
        return [
            (np.clip(first + near, 0, self.old - 1), self._share(np.abs(places - first - near)))
            for near in range(1 - _REACH[self.mode], 1 + _REACH[self.mode])
        ]

    def _places(self) -> Array:
        """Where each new row lies among the old ones, in float32 as in ONNX Runtime: rounding
        decides which row is nearest."""
        new, scale = np.arange(self.new, dtype=np.float32), np.float32(self.scale)
        if self.coordinates == "align_corners":
            return new * np.float32(self.old - 1) / np.float32(max(self.new - 1, 1))
        if self.coordinates == "asymmetric":
            return np.asarray(new / scale)
        if self.coordinates == "pytorch_half_pixel" and self.new == 1:
            return np.zeros(1, np.float32)
        half = np.float32(0.5)
        return np.asarray((new + half) / scale - half)

    def _nearest(self, places: Array) -> Array:
        rows = {
            "floor": np.floor(places),
            "ceil": np.ceil(places),
            "round_prefer_floor": np.ceil(places - 0.5),
            "round_prefer_ceil": np.floor(places + 0.5),
        }[self.nearest]
        return np.asarray(np.clip(rows.astype(int), 0, self.old - 1))

    def _share(self, distance: Array) -> Array:
        if self.mode == "linear":
            return np.asarray(1 - distance)
        a = self.cubic
        inner = ((a + 2) * distance - (a + 3)) * distance * distance + 1
        outer = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
        return np.where(distance <= 1, inner, outer)


def resize(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    shape = (model.batch or BATCH, *shape) if model.batched else shape
    if any(name and name not in model.known for name in node.inputs[1:]):
        raise refusal(node, "its sizes are computed")
    numbers = [model.known.get(name) for name in node.inputs[1:]]
    axes = _axes(node, shape, numbers)
    if isinstance(axes, str):
        raise refusal(node, axes)
    if model.batched and axes[0].old != axes[0].new:
        raise refusal(node, "it resizes the batch")
    axes = axes[model.batched :]
    if (scale := _repeats(axes)) is not None:
        return model.add(node, ops.UpsampleOp(scale), value)
    for number, axis in reversed(list(enumerate(axes))):
        if axis.old != axis.new or axis.scale != 1:
            value = _sum(model, node, value, number, axis)
    return value


def _sum(model: Importing, node: OnnxOp, value: str, number: int, axis: _Axis) -> str:
    total, rank = "", len(model.shape(value))
    for positions, shares in axis.taps():
        rows = take_rows(model, node, value, number, positions.tolist())
        if axis.mode == "nearest":
            return rows
        wide = model.as_constant(node, shares.reshape(-1, *(1,) * (rank - number - 1)), rank)
        part = model.add(node, ops.BinaryOp("multiply"), rows, wide)
        total = model.add(node, ops.BinaryOp("add"), total, part) if total else part
    return total


def _repeats(axes: Sequence[_Axis]) -> tuple[int, int] | None:
    """How often each pixel of an image is repeated; None if it is more than that."""
    if len(axes) != 3 or axes[0].old != axes[0].new or axes[0].mode != "nearest":
        return None
    for axis in axes[1:]:
        times = axis.new // axis.old
        if not np.array_equal(axis.taps()[0][0], np.repeat(np.arange(axis.old), max(times, 1))):
            return None
    return axes[1].new // axes[1].old, axes[2].new // axes[2].old


def resize_known(node: OnnxOp, inputs: Sequence[Any]) -> Array | None:
    """Of known values; None where it cannot be."""
    values, *numbers = inputs
    axes = _axes(node, values.shape, numbers)
    if isinstance(axes, str):
        return None
    for number, axis in enumerate(axes):
        if axis.old != axis.new or axis.scale != 1:
            wide = (-1, *(1,) * (values.ndim - number - 1))
            values = sum(
                np.take(values, positions, number) * shares.reshape(wide)
                for positions, shares in axis.taps()
            )
    return np.asarray(values, inputs[0].dtype)


def _axes(node: OnnxOp, shape: Sequence[int], numbers: Sequence[Array | None]) -> list[_Axis] | str:
    """How each axis is resized, or why it cannot be; opset 10 has scales alone, later ones also
    a region, which is only read by a mode that is refused. What opset 10 does not define, nearest
    rows of a smaller image, is as in ONNX Runtime."""
    attributes = node.attributes
    old = node.kind == "Upsample" or node.opset < 11
    scales = numbers[0] if old and numbers else numbers[1] if len(numbers) > 1 else None
    scales = np.array(attributes["scales"]) if "scales" in attributes else scales
    sizes = numbers[2] if len(numbers) > 2 else None
    some = tuple(axis % len(shape) for axis in attributes.get("axes", range(len(shape))))
    how: dict[str, Any] = {
        "mode": attributes.get("mode", "nearest"),
        "coordinates": "asymmetric" if old else attributes.get(*_COORDINATES),
        "nearest": "floor" if old else attributes.get(*_NEAREST),
        "cubic": float(attributes.get("cubic_coeff_a", -0.75)),
    }
    axes = [_Axis(size, size, 1.0, **how) for size in shape]
    numbers_of_axes = scales if scales is not None and scales.size else sizes
    if numbers_of_axes is None or numbers_of_axes.size != len(some):
        return "it has neither a scale nor a size for each axis"
    for axis, number in zip(some, numbers_of_axes.tolist(), strict=True):
        size = shape[axis]
        if numbers_of_axes is sizes:
            number = size if number == BATCH else number
            axes[axis] = _Axis(size, int(number), number / size, **how)
            continue
        if node.opset == 10 and number < 1:
            how["nearest"] = "ceil"
        axes[axis] = _Axis(size, int(np.floor(size * np.float32(number))), number, **how)
        if how["coordinates"] == "align_corners" and axes[axis].new != size * number:
            return f"it scales {size} pixels by {number:g} with align_corners, not to an integer"
    empty = any(axis.new < 1 for axis in axes)
    return "it leaves no pixel" if empty else axes


_COORDINATES = ("coordinate_transformation_mode", "half_pixel")
_NEAREST = ("nearest_mode", "round_prefer_floor")
