"""How far float32's rounding may move each output of a graph, place by place.

Each number is rounded to 2 ** -24 of itself as it is added, so a sum is off by a share of the sum
of its terms' absolute values, however little is left of them in the end. That sum is the layer
itself, computed of absolute values; Winograd's method has terms of its own, which are larger.
What a layer reads may be off too, and is passed on: by the weights, by the slope of an activation,
and to a byte only where it lies so near the middle of two that it may fall to either side.
"""

from __future__ import annotations

import msgspec
import numpy as np

from assay.native import ops, reference
from assay.native.activations import apply_activation
from assay.native.operations import definition_of
from assay.native.operations.definition import pad_borders
from assay.native.operations.matmul import apply_perforation
from assay.native.operations.pooling import apply_pool

UNIT = 2.0**-24  # half of float32's last place, of a number near 1
# Roundings have either sign, so that of many terms the sum is off by about UNIT of their absolute
# values, not by UNIT for each; this is how many times that may be before it is a mistake. In 3,680
# layers of drawn shapes it was up to 5.3 (few terms), 2.9 (bytes) and 2.0 (Winograd's method).
TIMES = 8
PLACES = 8  # of an activation, in units: the runtime's are within 4 of the last place


def rounding(graph, kernels, items):
    """Of each output, an array: what may be between it and exact arithmetic. `kernels` has the name
    of what computes each node."""
    values = reference.compute_values(graph, *items, dtype=np.float64)
    off = {value.name: 0 * values[value.name] for value in graph.inputs}
    for node, kernel in zip(graph.nodes, kernels, strict=True):
        inputs = [values[name] for name in node.inputs]
        sums = _sums(node, graph, inputs, [off[name] for name in node.inputs], kernel)
        off[node.output] = _kept(node, *_followed(node, inputs, off, sums))
    return tuple(off[name] for name in graph.outputs)


def _sums(node, graph, inputs, off, kernel):
    """What the operation alone gives, and how far it may be off."""
    constants = {name: array.astype(np.float64) for name, array in graph.constants.items()}
    exact = definition_of(node.op).compute(node.op, inputs, constants)
    if isinstance(node.op, ops.PoolOp):
        return exact, apply_pool(node.op, off[0])
    if isinstance(node.op, ops.CastOp | ops.ReshapeOp):
        return exact, definition_of(node.op).compute(node.op, off, constants)
    if isinstance(node.op, ops.BinaryOp) and node.op.kind == "add":
        return exact, off[0] + off[1] + UNIT * np.abs(exact)
    assert isinstance(node.op, ops.ConvOp | ops.DenseOp), f"nothing is known of {node.op}"
    absolute = {name: np.abs(array) for name, array in constants.items()}
    passed_on = _linear(node.op, off[0], absolute)
    maker = next((each for each in graph.nodes if each.output == node.inputs[0]), None)
    if maker is not None and maker.dtype == "uint8" and node.op.scales:
        terms = _after_bytes(node.op, inputs[0], maker.zero * maker.scale, constants)
    elif kernel.startswith("winograd-"):
        terms = _winograd(node.op, inputs[0], constants[node.op.weight], kernel)
    else:
        terms = _linear(node.op, np.abs(inputs[0]), absolute)
    terms = terms + np.abs(exact - _linear(node.op, inputs[0], constants))  # the bias
    return exact, passed_on + TIMES * UNIT * terms


def _linear(op, values, constants):
    op = msgspec.structs.replace(op, bias="")
    return definition_of(op).compute(op, [values], constants)


def _after_bytes(op, image, zero, constants):
    """Sums of integers are exact: rounded are only they themselves, with what the zero adds to
    each, and what is taken off for it."""
    weight = constants[op.weight]
    added = zero * constants[op.scales] * weight.reshape(len(weight), -1).sum(1)
    added = added.reshape(-1, *(1,) * (image.ndim - 2))
    if isinstance(op, ops.DenseOp):
        return np.abs(_linear(op, image, constants)) + 2 * np.abs(added)
    whole = msgspec.structs.replace(op, perforation=(1, 1, 0))
    return apply_perforation(np.abs(_linear(whole, image, constants)), op) + 2 * np.abs(added)


def _followed(node, inputs, off, sums):
    """After what is done to the sums before they are written."""
    exact, may = sums
    for post in getattr(node.op, "post", ()):
        if isinstance(post, ops.ResidualOp):
            exact = exact + inputs[-1]
            may = may + off[node.inputs[-1]] + UNIT * np.abs(exact)
        elif isinstance(post, ops.ActivationOp):
            may = _activated(post, exact, may)
            exact = apply_activation(post, exact)
        else:
            exact, may = apply_pool(post, exact), apply_pool(post, may)
    return exact, may


def _activated(post, exact, may):
    sides = [
        np.abs(apply_activation(post, exact + side) - apply_activation(post, exact))
        for side in (may, -may)
    ]
    return np.maximum(*sides) + PLACES * UNIT * np.maximum(
        np.abs(apply_activation(post, exact)), UNIT
    )


def _kept(node, exact, may):
    if node.dtype != "uint8":
        return may
    sides = [reference.fake_quantize(node, exact + side) for side in (may, -may)]
    return np.abs(sides[0] - sides[1])


# By a kernel's name: outputs of a tile, and the points of its polynomials besides infinity.
_POINTS = {
    "winograd-2x3": (2, (0, 1, -1)),
    "winograd-4x3": (4, (0, 1, -1, 2, -2)),
    "winograd-2x5": (2, (0, 1, -1, 2, -2)),
}


def _winograd(op, image, weight, kernel):
    """The absolute terms as Winograd's method has them: Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A. The sums of
    products in brackets are rounded independently, so that they add up by their squares."""
    kept, points = _POINTS[kernel]
    size, window = len(points) + 1, weight.shape[-1]
    turn_output, turn_filter, turn_input = _transforms(kept, window, points)
    high, wide = (image.shape[2 + i] + op.pads[i] + op.pads[2 + i] - window + 1 for i in (0, 1))
    down, across = -(-high // kept), -(-wide // kept)
    wanted = [n * kept + window - 1 for n in (down, across)]
    laid = pad_borders(np.abs(image), op.pads, 0)
    more = [max(0, n - laid.shape[2 + i]) for i, n in enumerate(wanted)]
    laid = pad_borders(laid, (0, 0, *more), 0)
    tiles = np.lib.stride_tricks.sliding_window_view(laid, (size, size), (2, 3))
    tiles = tiles[:, :, ::kept, ::kept][:, :, :down, :across]
    filters = np.abs(np.einsum("ak,ockl,bl->ocab", turn_filter, weight, turn_filter))
    seen = np.einsum("ak,nchwkl,bl->nchwab", turn_input, tiles, turn_input, optimize=True)
    products = np.einsum("ocab,nchwab->nohwab", filters, seen, optimize=True)
    squares = turn_output**2
    found = np.einsum("ia,nohwab,jb->nohiwj", squares, products**2, squares, optimize=True) ** 0.5
    return found.reshape(len(image), len(weight), down * kept, across * kept)[:, :, :high, :wide]


def _transforms(kept, window, points):
    """Aᵀ and Bᵀ of absolute values, and G, as in the runtime."""
    size = len(points) + 1
    at_points = np.vander(np.array(points, float), size, increasing=True)
    others = [np.prod([p - q for q in points if q != p]) for p in points]
    turn_filter = np.vstack([at_points[:, :window] / np.array(others)[:, None], np.eye(window)[-1]])
    turn_output = np.vstack([at_points[:, :kept], np.eye(kept)[-1]]).T
    rows = [np.poly([q for q in points if q != p])[::-1] for p in points]
    rows = [np.append(row, 0) for row in rows] + [np.poly(points)[::-1]]
    return np.abs(turn_output), turn_filter, np.abs(np.array(rows))
