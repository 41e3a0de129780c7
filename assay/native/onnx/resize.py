"""ONNX's Resize: pixels repeated, or mixed from their neighbours by a matrix along each axis."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.native import ops
from assay.native.graph import Array
from assay.native.onnx.constant_folding import BATCH
from assay.native.onnx.model import OnnxOp
from assay.native.onnx.read import Importing, refused

# How far each is from the place it is mixed for, and its share (Keys, 1981, with ONNX's -0.75).
_REACH = {"linear": 1, "cubic": 2}
_REPEATING = {
    ("asymmetric", "floor"),
    ("half_pixel", "round_prefer_floor"),
    ("pytorch_half_pixel", "round_prefer_floor"),
}


def resize(model: Importing, node: OnnxOp) -> str:
    value = model.values[node.inputs[0]]
    shape = model.shape(value)
    held = [model.known[name] for name in node.inputs[1:] if name in model.known]
    wanted = _wanted((model.batch or BATCH, *shape), held)
    if len(shape) != 3 or wanted is None or wanted[1][:2] != [1, 1]:
        raise refused(node, "only images can be resized, to sizes that are known")
    sizes, scales = wanted[0][2:], wanted[1][2:]
    if node.attributes.get("mode", "nearest") == "nearest":
        return _repeated(model, node, scales)
    if (unfit := _unfit(node)) or node.kind == "Upsample":
        raise refused(node, unfit or "it mixes pixels in the way of an older opset")
    across, down = (_mixing(node, shape[2 - at], sizes[1 - at], scales[1 - at]) for at in (0, 1))
    weight = model.building.constant(f"{node.outputs[0]}/across", across)
    value = model.add(node, ops.DenseOp(weight), value)
    return model.add(node, ops.MatMulOp(), model.fixed(node, down[None], 3), value)


def resized(node: OnnxOp, inputs: Sequence[Array]) -> Array | None:
    """The same of known numbers; None where it cannot be."""
    values, *rest = inputs
    wanted = _wanted(values.shape, rest)
    if wanted is None or _unfit(node) or node.attributes.get("mode", "nearest") == "nearest":
        return None
    for axis, (size, scale) in enumerate(zip(*wanted, strict=True)):
        if size != values.shape[axis]:
            mixed = _mixing(node, values.shape[axis], int(size), scale)
            values = np.moveaxis(np.tensordot(mixed, values, (1, axis)), 0, axis)
    return values.astype(np.float32)


def _wanted(shape: Sequence[int], held: Sequence[Array]) -> tuple[list[int], list[float]] | None:
    """Sizes and scales, of which a file tells one; what it tells of a region is passed over."""
    told = next((each for each in reversed(held) if each.size == len(shape)), None)
    if told is None:
        return None
    if np.issubdtype(told.dtype, np.integer):
        sizes = [shape[0] if size == BATCH else int(size) for size in told]
        return sizes, [new / old for new, old in zip(sizes, shape, strict=True)]
    return [int(np.floor(n * s)) for n, s in zip(shape, told, strict=True)], told.tolist()


def _repeated(model: Importing, node: OnnxOp, scales: Sequence[float]) -> str:
    """Whole pixels repeated: what nearest neighbours are where the scale is whole."""
    way = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    rounding = node.attributes.get("nearest_mode", "round_prefer_floor")
    if (way, rounding) not in _REPEATING and node.kind != "Upsample":
        raise refused(node, "only nearest pixels, repeated an integer number of times, can")
    if any(scale != int(scale) or scale < 1 for scale in scales):
        raise refused(node, f"it scales by {list(scales)}")
    scale = (int(scales[0]), int(scales[1]))
    return model.add(node, ops.UpsampleOp(scale), model.values[node.inputs[0]])


def _unfit(node: OnnxOp) -> str:
    """Why it cannot be a matrix, or ""."""
    told = node.attributes
    if told.get("antialias") or told.get("exclude_outside") or "axes" in told:
        return "it has an option that is not known here"
    if told.get("keep_aspect_ratio_policy", "stretch") != "stretch":
        return "it keeps the ratio of the sides"
    way = told.get("coordinate_transformation_mode", "half_pixel")
    known = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
    return "" if way in known else f"its pixels lie as {way} says"


def _mixing(node: OnnxOp, old: int, new: int, scale: float) -> Array:
    """(new, old): the share of each pixel in each new one."""
    places, mode = _places(node, old, new, scale), node.attributes["mode"]
    found = np.zeros((new, old))
    first = np.floor(places).astype(int)
    for near in range(1 - _REACH[mode], 1 + _REACH[mode]):
        column = np.clip(first + near, 0, old - 1)
        share = _share(mode, np.abs(places - first - near), node)
        np.add.at(found, (np.arange(new), column), share)
    return found.astype(np.float32)


def _places(node: OnnxOp, old: int, new: int, scale: float) -> Array:
    """Where each new pixel lies among the old ones."""
    way = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    new_places = np.arange(new, dtype=np.float64)
    if way == "align_corners":
        return new_places * ((old - 1) / (new - 1) if new > 1 else 0.0)
    if way == "asymmetric" or (way == "pytorch_half_pixel" and new == 1):
        return new_places / scale
    return (new_places + 0.5) / scale - 0.5


def _share(mode: str, far: Array, node: OnnxOp) -> Array:
    if mode == "linear":
        return 1 - far
    a = float(node.attributes.get("cubic_coeff_a", -0.75))
    inner = ((a + 2) * far - (a + 3)) * far * far + 1
    outer = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
    return np.where(far <= 1, inner, outer)
