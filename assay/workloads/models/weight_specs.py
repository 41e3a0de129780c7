"""Names and shapes of a net's weights in Keras' order, and the work of its layers.

The implementation for Keras draws its weights from the seed in that order, so the same list gives
PyTorch and JAX equal weights. Shapes are Keras'; a name ends with Keras' name of the variable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from assay.core import phases
from assay.workloads.models import weight_cache

Shape = tuple[int, ...]


class WeightSpecs:
    """Collected layer by layer; `places` is how often a kernel is applied to one item."""

    def __init__(self) -> None:
        self.shapes: dict[str, Shape] = {}
        self.work = 0  # multiply-adds of one item's forward pass

    def conv(
        self, name: str, size: int, before: int, filters: int, places: int, bias: bool = True
    ) -> None:
        self.shapes[f"{name}.kernel"] = (size, size, before, filters)
        self.work += places * size**2 * before * filters
        if bias:
            self.shapes[f"{name}.bias"] = (filters,)

    def transposed_conv(self, name: str, size: int, before: int, filters: int, places: int) -> None:
        """`places` are those of its input, each of which is multiplied by the whole kernel."""
        self.shapes |= {f"{name}.kernel": (size, size, filters, before), f"{name}.bias": (filters,)}
        self.work += places * size**2 * before * filters

    def depthwise(self, name: str, size: int, channels: int, places: int) -> None:
        self.shapes |= {f"{name}.kernel": (size, size, channels, 1), f"{name}.bias": (channels,)}
        self.work += places * size**2 * channels

    def separable(self, name: str, size: int, before: int, filters: int, places: int) -> None:
        self.shapes[f"{name}.depthwise_kernel"] = (size, size, before, 1)
        self.shapes[f"{name}.pointwise_kernel"] = (1, 1, before, filters)
        self.work += places * before * (size**2 + filters)

    def dense(self, name: str, before: int, units: int, places: int = 1) -> None:
        self.shapes |= {f"{name}.kernel": (before, units), f"{name}.bias": (units,)}
        self.work += places * before * units

    def recurrent(self, name: str, before: int, gates: int, bias: Shape, places: int) -> None:
        units = bias[-1] // gates
        self.shapes[f"{name}.kernel"] = (before, gates * units)
        self.shapes[f"{name}.recurrent_kernel"] = (units, gates * units)
        self.shapes[f"{name}.bias"] = bias
        self.work += places * gates * units * (before + units)

    def table(self, name: str, *shape: int) -> None:
        self.shapes[f"{name}.embeddings"] = shape

    def batch_norm(self, name: str, channels: int) -> None:
        for part in ("gamma", "beta", "moving_mean", "moving_variance"):
            self.shapes[f"{name}.{part}"] = (channels,)

    def layer_norm(self, name: str, width: int) -> None:
        self.shapes |= {f"{name}.gamma": (width,), f"{name}.beta": (width,)}

    def block(self, name: str, width: int, length: int, seen: float | None = None) -> None:
        """Of a transformer, for `length` positions that each attend to `seen`, or to all."""
        self.dense(f"{name}.attention.project", width, 3 * width, length)
        self.dense(f"{name}.attention.out", width, width, length)
        for norm in range(2):
            self.layer_norm(f"{name}.norms.{norm}", width)
        self.dense(f"{name}.expand", width, 4 * width, length)
        self.dense(f"{name}.shrink", 4 * width, width, length)
        self.work += round(2 * length * (length if seen is None else seen) * width)

    def arrays(self, seed: int) -> dict[str, Any]:
        with phases.during("weights"):
            return dict(draw_weights(self.shapes, seed))


def draw_weights(shapes: Mapping[str, Shape], seed: int) -> Iterator[tuple[str, Any]]:
    """Weights drawn by their role; none is constant 0 or 1."""

    def draw() -> Iterator[Any]:
        import numpy as np

        random = np.random.default_rng(seed)
        for name, shape in shapes.items():
            low, high = _range(name.rpartition(".")[2], shape)
            values = random.random(shape, dtype=np.float32)
            values *= high - low
            values += low
            yield values

    return weight_cache.load_or_draw(shapes, seed, draw)


def _range(name: str, shape: Shape) -> tuple[float, float]:
    if name in {"gamma", "moving_variance"}:
        return 0.9, 1.1
    if name.endswith("kernel") and len(shape) > 1:
        # Glorot and Bengio (2010); a depthwise kernel has one input channel
        receptive = math.prod(shape[:-2])
        fans = 2 * receptive if name.startswith("depthwise") else receptive * sum(shape[-2:])
        limit = math.sqrt(6 / fans)
        return -limit, limit
    return -0.05, 0.05
