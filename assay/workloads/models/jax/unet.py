"""U-Net in JAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.nn import relu

from assay.workloads.models.jax.layers import along, conv, max_pool, tree
from assay.workloads.unet import DEPTH


def model(
    arrays: Mapping[str, Any], image_size: int, filters: int, classes: int
) -> tuple[Any, ...]:
    return apply, tree(_in_order(arrays))


def apply(
    params: Any,
    values: Any,
    key: Any = None,
    data_format: str = "channels_last",
) -> Any:
    last = data_format == "channels_last"
    across = []
    for level, weights in enumerate(params["down"]):
        values = _pair(weights, max_pool(values, 2, 2, last) if level else values, last)
        across.append(values)
    for level in reversed(range(DEPTH)):
        wider = _wider(params["wider"][level], values, last)
        values = jnp.concatenate([across[level], wider], -1 if last else 1)
        values = _pair(params["up"][level], values, last)
    values = conv(params["head"], values, last)
    return values if last else values.transpose(0, 2, 3, 1)  # the loss is over the last axis


def _pair(weights: Any, values: Any, last: bool) -> Any:
    for part in ("first", "second"):
        values = relu(conv(weights[part], values, last, padding=1))
    return values


def _wider(weights: Any, values: Any, last: bool) -> Any:
    """Transposed convolution to twice the size. The kernel is that of the forward convolution."""
    axes = "NHWC" if last else "NCHW"
    outputs = lax.conv_transpose(
        values,
        weights["kernel"],
        (2, 2),
        "VALID",
        dimension_numbers=(axes, "HWIO", axes),
        transpose_kernel=True,
    )
    return outputs + along(weights["bias"], last)


def _in_order(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """By level: in Keras the way up begins at the deepest."""
    return dict(sorted(arrays.items()))
