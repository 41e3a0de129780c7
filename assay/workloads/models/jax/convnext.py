"""ConvNeXt in JAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax

from assay.workloads.convnext import EPSILON
from assay.workloads.models.jax.layers import along, conv, dense, layer_norm, mean_of_pixels, tree


def model(
    arrays: Mapping[str, Any], image_size: int, classes: int, deep: int, width: int
) -> tuple[Any, ...]:
    return apply, tree(arrays)


def apply(
    params: Any,
    values: Any,
    key: Any = None,
    data_format: str = "channels_last",
) -> Any:
    last = data_format == "channels_last"
    values = _norm(params["stem_norm"], conv(params["stem"], values, last, 4), last)
    for stage in params["stages"]:
        if "shrink" in stage:
            values = conv(stage["shrink"], _norm(stage["norm"], values, last), last, 2)
        for weights in stage["blocks"]:
            values = _block(weights, values, last)
    values = layer_norm(params["norm"], mean_of_pixels(values, last), EPSILON)
    return dense(params["head"], values)


def _block(weights: Any, values: Any, last: bool) -> Any:
    """7 x 7 depthwise, then two dense layers on each pixel, written as 1 x 1 convolutions."""
    branch = conv(weights["across"], values, last, padding=3, depthwise=True)
    branch = _norm(weights["norm"], branch, last)
    branch = jax.nn.gelu(conv(weights["expand"], branch, last), approximate=False)
    branch = conv(weights["shrink"], branch, last)
    return values + branch * along(weights["scale"]["gamma"], last)


def _norm(weights: Any, values: Any, last: bool) -> Any:
    """Over the channels of each pixel."""
    if last:
        return layer_norm(weights, values, EPSILON)
    normalized = layer_norm(weights, values.transpose(0, 2, 3, 1), EPSILON)
    return normalized.transpose(0, 3, 1, 2)
