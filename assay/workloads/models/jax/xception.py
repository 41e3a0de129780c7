"""Xception in JAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jax.nn import relu

from assay.workloads.models.jax.layers import (
    BatchNorms,
    averages,
    conv,
    dense,
    max_pool,
    mean_of_pixels,
    tree,
)
from assay.workloads.net.layers import EPSILON, MOMENTUM


def model(
    arrays: Mapping[str, Any], image_size: int, middle: int, narrower: int, classes: int
) -> tuple[Any, ...]:
    def apply(
        params: Any,
        values: Any,
        key: Any = None,
        data_format: str = "channels_last",
        state: Any = None,
    ) -> Any:
        last = data_format == "channels_last"
        net = _Xception(BatchNorms(state, key is not None, last, MOMENTUM, EPSILON), last)
        return net.outputs(params, values), net.norm.new

    return apply, tree(arrays), averages(arrays)


class _Xception:
    """The parts of one pass, which share the norms and the layout."""

    def __init__(self, norm: BatchNorms, last: bool) -> None:
        self.norm, self.last = norm, last

    def outputs(self, params: Any, values: Any) -> Any:
        for number, (weights, stride) in enumerate(zip(params["stem"], (2, 1), strict=True)):
            values = relu(self._conv_norm(weights, values, f"stem.{number}", stride))
        for number, weights in enumerate(params["entry"]):
            values = self._downsample(weights, values, f"entry.{number}", relu_first=number > 0)
        for block, rest in enumerate(params.get("middle", ())):
            shortcut = values
            for number, weights in enumerate(rest):
                values = self._separable(weights, relu(values), f"middle.{block}.{number}")
            values = values + shortcut
        values = self._downsample(params["exit"], values, "exit", relu_first=True)
        for number, weights in enumerate(params["last"]):
            values = relu(self._separable(weights, values, f"last.{number}"))
        return dense(params["head"], mean_of_pixels(values, self.last))

    def _downsample(self, weights: Any, values: Any, name: str, relu_first: bool) -> Any:
        """Two separable convolutions and a max pool, with a strided 1x1 shortcut."""
        shortcut = self._conv_norm(weights["around"], values, f"{name}.around", 2)
        values = relu(values) if relu_first else values
        values = relu(self._separable(weights["first"], values, f"{name}.first"))
        values = self._separable(weights["second"], values, f"{name}.second")
        return max_pool(values, 3, 2, self.last, "SAME") + shortcut

    def _separable(self, weights: Any, values: Any, name: str) -> Any:
        values = conv(
            weights, values, self.last, padding=1, kernel="depthwise_kernel", depthwise=True
        )
        values = conv(weights, values, self.last, kernel="pointwise_kernel")
        return self.norm(f"{name}.norm", weights["norm"], values)

    def _conv_norm(self, weights: Any, values: Any, name: str, stride: int) -> Any:
        values = conv(weights["conv"], values, self.last, stride)
        return self.norm(f"{name}.norm", weights["norm"], values)
