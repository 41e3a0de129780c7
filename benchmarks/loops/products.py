"""Small matrix products, so many a step: a known difference is one more of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def work(inner: int = 50) -> Callable[[], None]:
    """`inner` products of 64 by 64."""
    left, right = np.random.default_rng(0).random((2, 64, 64), dtype=np.float32)
    out = np.empty_like(left)

    def step() -> None:
        for _ in range(inner):
            np.dot(left, right, out=out)

    return step
