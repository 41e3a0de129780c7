"""Filter sampling: some terms of every filter left out, and the others made larger for them."""

from __future__ import annotations

import numpy as np

from assay.native.graph import Array


def left_out(shape: tuple[int, ...], every: int, offset: int) -> Array:
    """Which terms of a filter (channels, height, width), as HPVM counts them.

    Where the window's size is a multiple of `every`, each channel loses the same number of terms,
    shifted by one from channel to channel; else terms are counted through the whole filter.
    """
    channels, window = shape[0], int(np.prod(shape[1:]))
    if window % every:
        flat = np.arange(channels * window)
        dropped: Array = (flat >= offset) & ((flat - offset) % every == 0)
        return dropped.reshape(shape)
    local, channel = np.arange(window), np.arange(channels)[:, None]
    found: Array = (local % every == (offset + channel) % every).reshape(shape)
    return found


def sampled(weight: Array, every: int, offset: int) -> Array:
    """A weight (out, in, height, width) whose terms left out are 0."""
    dropped = left_out(weight.shape[1:], every, offset)
    return np.where(dropped, 0, weight * (every / (every - 1))).astype(np.float32)
