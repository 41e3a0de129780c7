"""Weights corrected by least squares: on a calibration set, the same sums from fewer terms."""

from __future__ import annotations

import numpy as np

from assay.native.graph import Array
from assay.native.operations.definition import padded
from assay.native.ops import ConvOp, DenseOp

SAMPLES = 4000  # places that are looked at
RIDGE = 1e-2  # of the mean square of a term: what the samples do not tell stays as it was


def moments(op: ConvOp | DenseOp, weight: Array, values: Array) -> Array:
    """The mean product of each two terms (in, height, width) that a filter multiplies."""
    seen = (
        values.reshape(-1, values.shape[-1])
        if isinstance(op, DenseOp)
        else _patches(op, weight, values)
    )
    seen = seen[:: max(1, len(seen) // SAMPLES)].astype(np.float32)
    found: Array = (seen.T @ seen).astype(np.float64) / len(seen)
    return found


def corrected(weight: Array, dropped: Array, second: Array) -> Array:
    """The weight without the terms `dropped`, the others taking over what can be told by them."""
    flat = weight.reshape(len(weight), -1).astype(np.float64)
    out, kept = dropped.reshape(-1), ~dropped.reshape(-1)
    inner = second[np.ix_(kept, kept)]
    inner += RIDGE * np.trace(inner) / len(inner) * np.eye(len(inner))
    taken = np.linalg.solve(inner, second[np.ix_(kept, out)] @ flat[:, out].T)
    made = np.zeros_like(flat)
    made[:, kept] = flat[:, kept] + taken.T
    return made.reshape(weight.shape).astype(np.float32)


def low_rank(weight: Array, share: float, second: Array | None) -> tuple[Array, Array]:
    """Two matrices whose product is nearest to the weight (out, in), on inputs of these moments."""
    rank = max(1, round(share * min(weight.shape)))
    matrix = weight.astype(np.float64)
    inputs = np.eye(weight.shape[1])
    if second is not None:
        inputs = second + RIDGE * np.trace(second) / len(second) * inputs
    spread = matrix @ inputs @ matrix.T
    basis = np.linalg.eigh(spread)[1][:, ::-1][:, :rank]
    return (basis.T @ matrix).astype(np.float32), basis.astype(np.float32)


def _patches(op: ConvOp, weight: Array, values: Array) -> Array:
    """What each output pixel is made of, of some of them."""
    high, wide = weight.shape[2:]
    reach = ((high - 1) * op.dilations[0] + 1, (wide - 1) * op.dilations[1] + 1)
    whole = padded(values, op.pads, 0)
    windows = np.lib.stride_tricks.sliding_window_view(whole, reach, (2, 3))
    windows = windows[
        :, :, :: op.strides[0], :: op.strides[1], :: op.dilations[0], :: op.dilations[1]
    ]
    images, channels, down, across = windows.shape[:4]
    step = max(1, images * down * across // SAMPLES)
    places = np.arange(0, images * down * across, step)
    image, place = places // (down * across), places % (down * across)
    found: Array = windows[image, :, place // across, place % across]
    return found.reshape(len(places), channels * high * wide)
