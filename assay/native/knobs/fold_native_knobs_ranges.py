"""Bytes for numbers: which scale and zero lose least of what a calibration set shows."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from assay.native.graph import Array

MOST = 50_000  # numbers looked at, of a value
SHARES = np.linspace(0.4, 1.0, 25)  # of the whole range, that are tried


class Affine(msgspec.Struct, frozen=True):
    """A byte b is (b - zero) * scale."""

    scale: float
    zero: int


def affine(values: Array) -> Affine:
    """The range whose bytes are nearest to the values, in mean square: far ones are cut off."""
    seen = _some(values).astype(np.float64)
    low, high = min(float(seen.min()), 0.0), max(float(seen.max()), 0.0)
    tried = [_of(low * share, high * share) for share in SHARES]
    return min(tried, key=lambda each: _loss(seen, each))


def whole_weights(weight: Array) -> tuple[Array, Array]:
    """Whole numbers from -127 to 127 and a factor for each filter, nearest to the weight."""
    rows = np.abs(weight.reshape(len(weight), -1)).max(1).astype(np.float64)
    scales = (np.where(rows > 0, rows, 127.0) / 127).astype(np.float32)
    numbers = np.rint(weight / scales.reshape(-1, *(1,) * (weight.ndim - 1)))
    return np.clip(numbers, -127, 127).astype(np.float32), scales


def _some(values: Array) -> Array:
    """Spread evenly, the largest and smallest among them."""
    flat: Array = np.asarray(values).reshape(-1)
    flat = flat[np.isfinite(flat)]
    if not flat.size:
        return np.zeros(1, np.float32)
    some: Array = flat[:: max(1, flat.size // MOST)]
    return np.concatenate([some, [flat.min(), flat.max()]])


def _of(low: float, high: float) -> Affine:
    scale = float(np.float32(max(high - low, 1e-30) / 255))
    return Affine(scale, int(np.clip(np.rint(-low / scale), 0, 255)))


def _loss(values: Array, as_bytes: Affine) -> Any:  # noqa: ANN401 (a number of numpy)
    kept = np.clip(np.rint(values / as_bytes.scale + as_bytes.zero), 0, 255)
    return np.mean(((kept - as_bytes.zero) * as_bytes.scale - values) ** 2)
