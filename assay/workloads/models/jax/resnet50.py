"""ResNet50 in JAX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from assay.workloads.resnet50 import EPSILON, MOMENTUM, block_specs


def model(
    arrays: Mapping[str, Any], image_size: int, blocks: Sequence[int], narrower: int, classes: int
) -> tuple[Any, ...]:
    strides = [stride for _, _, stride, _ in block_specs(blocks, narrower)]

    def apply(
        params: Any,
        values: Any,
        key: Any = None,
        data_format: str = "channels_last",
        state: Any = None,
    ) -> Any:
        last = data_format == "channels_last"
        norm = BatchNorms(state, key is not None, last, MOMENTUM, EPSILON)
        values = conv(params["stem"], values, last, 2, 3)
        values = relu(norm("stem_norm", params["stem_norm"], values))
        values = max_pool(values, 3, 2, last, (1, 1))
        for number, (weights, stride) in enumerate(zip(params["blocks"], strides, strict=True)):
            values = _bottleneck(weights, values, f"blocks.{number}", norm, last, stride)
        return dense(params["head"], mean_of_pixels(values, last)), norm.new

    return apply, tree(arrays), averages(arrays)


def _bottleneck(
    weights: Any,
    values: Any,
    name: str,
    norm: BatchNorms,
    last: bool,
    stride: int,
) -> Any:
    """1 x 1, 3 x 3, 1 x 1, with a shortcut: the input or its projection."""

    def apply_norm(part: str, values: Any) -> Any:
        return norm(f"{name}.{part}_norm", weights[f"{part}_norm"], values)

    shortcut = values
    if "around" in weights:
        shortcut = apply_norm("around", conv(weights["around"], values, last, stride))
    values = relu(apply_norm("narrow", conv(weights["narrow"], values, last, stride)))
    values = relu(apply_norm("middle", conv(weights["middle"], values, last, padding=1)))
    return relu(shortcut + apply_norm("wide", conv(weights["wide"], values, last)))
