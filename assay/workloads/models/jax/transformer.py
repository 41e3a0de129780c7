"""The parts of a transformer in JAX, as pure functions of their weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp

from assay.workloads.models.jax.layers import apply_dropout, dense, layer_norm

FUSED = (jnp.bfloat16, jnp.float16)  # dtypes of cuDNN's fused attention
DEPTHS = 8  # there a head's depth has to be a multiple of this


def block(
    weights: Any,
    values: Any,
    heads: int,
    epsilon: float,
    causal: bool = False,
) -> Any:
    """Norms first, then attention, then two dense layers."""
    normed = layer_norm(weights["norms"][0], values, epsilon)
    return finish_block(
        weights, values, attention(weights["attention"], normed, heads, causal), epsilon
    )


def finish_block(weights: Any, values: Any, attended: Any, epsilon: float) -> Any:
    """The part of a block after the attention, with norms first."""
    values = values + attended
    return values + two_dense(weights, layer_norm(weights["norms"][1], values, epsilon))


def block_norms_last(
    weights: Any,
    values: Any,
    heads: int,
    epsilon: float,
    dropout: tuple[float, Any, int],
) -> Any:
    """As in the first papers. `dropout`: rate, key, and a number of this block."""
    rate, key, number = dropout
    branch = attention(weights["attention"], values, heads)
    values = layer_norm(
        weights["norms"][0], values + apply_dropout(branch, rate, key, 2 * number), epsilon
    )
    branch = apply_dropout(two_dense(weights, values), rate, key, 2 * number + 1)
    return layer_norm(weights["norms"][1], values + branch, epsilon)


def two_dense(weights: Any, values: Any) -> Any:
    wide = jax.nn.gelu(dense(weights["expand"], values), approximate=False)
    return dense(weights["shrink"], wide)


def attention(weights: Any, values: Any, heads: int, causal: bool = False) -> Any:
    return attend(weights, split_heads(weights, values, heads), causal)


def split_heads(weights: Any, values: Any, heads: int) -> list[Any]:
    """Queries, keys and values, each (batch, length, heads, depth)."""
    split = (*values.shape[:2], 3, heads, values.shape[-1] // heads)
    parts = dense(weights["project"], values).reshape(split)
    return [parts[:, :, part] for part in range(3)]


def attend(weights: Any, parts: Sequence[Any], causal: bool) -> Any:
    query, key, value = parts
    outputs = jax.nn.dot_product_attention(
        query, key, value, is_causal=causal, implementation=_implementation(query)
    )
    return dense(weights["out"], outputs.reshape(*outputs.shape[:2], -1))


def _implementation(query: Any) -> Any:
    """cuDNN's fused kernel does not store the attention matrix; it takes half precision only."""
    fits = query.dtype in FUSED and query.shape[-1] % DEPTHS == 0 and query.shape[-1] <= 128
    return "cudnn" if fits and jax.default_backend() == "gpu" else None
