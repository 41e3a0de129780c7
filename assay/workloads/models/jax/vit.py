"""The vision transformer in JAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from assay.workloads.models.jax.layers import conv, dense, layer_norm, tree
from assay.workloads.models.jax.transformer import block
from assay.workloads.vit import EPSILON


def model(
    arrays: Mapping[str, Any],
    image_size: int,
    patch: int,
    classes: int,
    layers: int,
    width: int,
    heads: int,
) -> tuple[Any, ...]:
    """Patches and a class token, whose last state is classified."""

    def apply(
        params: Any,
        images: Any,
        key: Any = None,
        data_format: str = "channels_last",
    ) -> Any:
        last = data_format == "channels_last"
        values = conv(params["patches"], images, last, patch)
        values = (values if last else values.transpose(0, 2, 3, 1)).reshape(len(values), -1, width)
        first = jnp.broadcast_to(params["token"]["embeddings"], (len(values), 1, width))
        values = jnp.concatenate([first, values], 1) + params["positions"]["embeddings"]
        for weights in params["blocks"]:
            values = block(weights, values, heads, EPSILON)
        return dense(params["head"], layer_norm(params["norm"], values[:, 0], EPSILON))

    return apply, tree(arrays)
